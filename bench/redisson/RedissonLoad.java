import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Generates load on one kind of lock: RedissonLoad ADDRESS KIND default|tuned. Each line of the input is LABEL CALLERS
 * FIRST_CALLER KEYS SECTION_MS DURATION_MS, where 0 keys stand for one that all callers share; each line of the output is
 * HOLDS LONGEST_WAIT_MS.
 */
public final class RedissonLoad {
  private final RedissonClient redisson;
  private final String kind;
  private final ScheduledExecutorService timer = Executors.newScheduledThreadPool(2);

  private RedissonLoad(RedissonClient redisson, String kind) {
    this.redisson = redisson;
    this.kind = kind;
  }

  public static void main(String[] args) throws InterruptedException {
    Config config = new Config();
    boolean tuned = args[2].equals("tuned");
    config.setCheckLockSyncedSlaves(!tuned);
    var server = config.useSingleServer().setAddress(args[0]);
    // Fewer connections carry more commands at once.
    if (tuned) server.setConnectionPoolSize(8).setConnectionMinimumIdleSize(8);
    RedissonLoad load = new RedissonLoad(Redisson.create(config), args[1]);
    System.out.println("ready");
    Scanner input = new Scanner(System.in);
    while (input.hasNextLine()) System.out.println(load.run(input.nextLine().split(" ")));
    Runtime.getRuntime().halt(0);
  }

  private String run(String[] words) throws InterruptedException {
    int callers = Integer.parseInt(words[1]), first = Integer.parseInt(words[2]);
    int keys = Integer.parseInt(words[3]), sectionMs = Integer.parseInt(words[4]);
    long end = System.nanoTime() + Long.parseLong(words[5]) * 1_000_000;
    Round round = new Round(words[0], keys, sectionMs, end, new CountDownLatch(callers));
    for (int i = first; i < first + callers; i++) {
      Caller caller = new Caller(round, i);
      if (kind.endsWith("Async")) caller.next();
      else new Thread(caller::takeTurns).start();
    }
    round.done.await();
    return round.holds + " " + round.longest.get() / 1_000_000;
  }

  private final class Round {
    final AtomicLong holds = new AtomicLong(), longest = new AtomicLong();
    final String label;
    final int keys, sectionMs;
    final long end;
    final CountDownLatch done;

    Round(String label, int keys, int sectionMs, long end, CountDownLatch done) {
      this.label = label;
      this.keys = keys;
      this.sectionMs = sectionMs;
      this.end = end;
      this.done = done;
    }
  }

  private final class Caller {
    private final Round round;
    private final int index;
    private int turn;

    Caller(Round round, int index) {
      this.round = round;
      this.index = index;
    }

    void takeTurns() {
      while (System.nanoTime() < round.end) {
        RLock lock = lock();
        long asked = System.nanoTime();
        lock.lock();
        granted(asked);
        try {
          if (round.sectionMs > 0) Thread.sleep(round.sectionMs);
        } catch (InterruptedException stopped) {
          return;
        } finally {
          lock.unlock();
        }
        count();
      }
      round.done.countDown();
    }

    /** The same without a thread for each caller. */
    void next() {
      if (System.nanoTime() >= round.end) {
        round.done.countDown();
        return;
      }
      RLock lock = lock();
      long asked = System.nanoTime();
      CompletionStage<Void> work = lock.lockAsync(index + 1).thenRun(() -> granted(asked));
      if (round.sectionMs > 0) work = work.thenCompose(none -> pause());
      work.thenCompose(none -> lock.unlockAsync(index + 1)).thenRun(this::count).thenRunAsync(this::next, timer);
    }

    private CompletionStage<Void> pause() {
      CompletableFuture<Void> over = new CompletableFuture<>();
      timer.schedule(() -> over.complete(null), round.sectionMs, TimeUnit.MILLISECONDS);
      return over;
    }

    private RLock lock() {
      String name = round.keys == 0 ? round.label : round.label + ":" + index + ":" + turn++ % round.keys;
      return kind.equals("fair") ? redisson.getFairLock(name) : redisson.getLock(name);
    }

    private void granted(long asked) {
      if (System.nanoTime() < round.end) round.longest.accumulateAndGet(System.nanoTime() - asked, Math::max);
    }

    private void count() {
      if (System.nanoTime() < round.end) round.holds.incrementAndGet();
    }
  }
}
