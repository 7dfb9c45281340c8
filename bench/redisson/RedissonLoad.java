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
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Generates load on one kind of lock: RedissonLoad ADDRESS lock|lockAsync|fair|read|semaphore default|tuned. A line of
 * the input is "run LABEL CALLERS FIRST_CALLER KEYS SECTION_MS DURATION_MS", where 0 keys stand for one that all callers
 * share; its reply is HOLDS LONGEST_WAIT_MS. "hold NAME" replies once this process holds the lock, until "release".
 */
public final class RedissonLoad {
  /** Permits of a semaphore. */
  private static final int LIMIT = 10;

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
    Runnable release = null;
    while (input.hasNextLine()) {
      String[] words = input.nextLine().split(" ");
      if (words[0].equals("run")) {
        System.out.println(load.run(words));
      } else if (words[0].equals("hold")) {
        release = load.acquire(words[1]);
        System.out.println("held");
      } else {
        release.run();
        System.out.println("released");
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private String run(String[] words) throws InterruptedException {
    int callers = Integer.parseInt(words[2]), first = Integer.parseInt(words[3]);
    int keys = Integer.parseInt(words[4]), sectionMs = Integer.parseInt(words[5]);
    if (kind.equals("semaphore")) redisson.getPermitExpirableSemaphore(words[1]).trySetPermits(LIMIT);
    long end = System.nanoTime() + Long.parseLong(words[6]) * 1_000_000;
    Round round = new Round(words[1], keys, sectionMs, end, new CountDownLatch(callers));
    for (int i = first; i < first + callers; i++) {
      Caller caller = new Caller(round, i);
      if (kind.endsWith("Async")) caller.next();
      else new Thread(caller::takeTurns).start();
    }
    round.done.await();
    return round.holds + " " + round.longest.get() / 1_000_000;
  }

  /** Waits for the lock, and returns what releases it. */
  private Runnable acquire(String name) throws InterruptedException {
    if (kind.equals("semaphore")) {
      RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(name);
      String permit = semaphore.acquire();
      return () -> semaphore.release(permit);
    }
    RLock lock = lock(name);
    lock.lock();
    return lock::unlock;
  }

  private RLock lock(String name) {
    switch (kind) {
      case "fair":
        return redisson.getFairLock(name);
      case "read":
        return redisson.getReadWriteLock(name).readLock();
      default:
        return redisson.getLock(name);
    }
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
      try {
        while (System.nanoTime() < round.end) {
          String name = nextName();
          long asked = System.nanoTime();
          Runnable release = acquire(name);
          granted(asked);
          if (round.sectionMs > 0) Thread.sleep(round.sectionMs);
          release.run();
          count();
        }
      } catch (InterruptedException stopped) {
        // The round ends without this caller.
      }
      round.done.countDown();
    }

    /** The same without a thread for each caller. */
    void next() {
      if (System.nanoTime() >= round.end) {
        round.done.countDown();
        return;
      }
      RLock lock = lock(nextName());
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

    private String nextName() {
      return round.keys == 0 ? round.label : round.label + ":" + index + ":" + turn++ % round.keys;
    }

    private void granted(long asked) {
      if (System.nanoTime() < round.end) round.longest.accumulateAndGet(System.nanoTime() - asked, Math::max);
    }

    private void count() {
      if (System.nanoTime() < round.end) round.holds.incrementAndGet();
    }
  }
}
