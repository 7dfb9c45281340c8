import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

/**
 * Uses locks of Redisson as a test tells it: LockClient WATCHDOG_MS ADDRESS... Each line of the input is REQUEST THREAD
 * COMMAND ARGUMENT..., each line of the output REQUEST ok RESULT or REQUEST error MESSAGE. A thread runs its commands one
 * after the other, since a lock belongs to a thread. Several addresses are nodes of a Redis Cluster. Times are
 * microseconds since 1970.
 */
public final class LockClient {
  /** Registers the token of a hold, and returns the guarded number; -1 if a later hold was here. */
  private static final String ENTER =
      "if tonumber(redis.call('hget', KEYS[1], 'token') or 0) >= tonumber(ARGV[1]) then return -1 end "
          + "redis.call('hset', KEYS[1], 'token', ARGV[1]) "
          + "return tonumber(redis.call('hget', KEYS[1], 'value') or 0)";

  /** Writes the guarded number; 0 if another hold has begun meanwhile. */
  private static final String LEAVE =
      "if redis.call('hget', KEYS[1], 'token') ~= ARGV[1] then return 0 end "
          + "redis.call('hset', KEYS[1], 'value', ARGV[2]) return 1";

  /** Redisson 4 has another name for it. */
  private static final RScript.ReturnType NUMBER =
      Arrays.stream(RScript.ReturnType.values())
          .filter(type -> type.name().equals("INTEGER") || type.name().equals("LONG"))
          .findFirst()
          .orElseThrow();

  private final RedissonClient redisson;
  private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();

  private LockClient(RedissonClient redisson) {
    this.redisson = redisson;
  }

  public static void main(String[] args) {
    Config config = new Config();
    config.setLockWatchdogTimeout(Long.parseLong(args[0]));
    List<String> addresses = Arrays.asList(args).subList(1, args.length);
    if (addresses.size() == 1) config.useSingleServer().setAddress(addresses.get(0));
    else config.useClusterServers().addNodeAddress(addresses.toArray(new String[0]));
    LockClient client = new LockClient(Redisson.create(config));
    System.out.println("ready");
    Scanner input = new Scanner(System.in);
    while (input.hasNextLine()) client.submit(input.nextLine().split(" "));
    // The test has ended, or closes this client.
    Runtime.getRuntime().halt(0);
  }

  private void submit(String[] words) {
    threads
        .computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
        .execute(
            () -> {
              String reply;
              try {
                reply = "ok " + run(words[2], words[3], Arrays.copyOfRange(words, 4, words.length));
              } catch (Throwable error) {
                reply = "error " + error;
              }
              System.out.println(words[0] + " " + reply.replace('\n', ' '));
            });
  }

  private Object run(String command, String name, String[] args) throws Exception {
    RLock lock = redisson.getLock(name);
    switch (command) {
      case "lock":
        lock.lock();
        return now();
      case "tryLock":
        return lock.tryLock(Long.parseLong(args[0]), Long.parseLong(args[1]), TimeUnit.MILLISECONDS);
      case "unlock":
        long before = now();
        lock.unlock();
        return before;
      case "forceUnlock":
        return lock.forceUnlock();
      case "isLocked":
        return lock.isLocked();
      case "timeToLive":
        return lock.remainTimeToLive();
      case "fencedLock":
        return redisson.getFencedLock(name).lockAndGetToken();
      case "fairLock":
        redisson.getFairLock(name).lock();
        return now();
      case "fairUnlock":
        redisson.getFairLock(name).unlock();
        return now();
      case "readLock":
        redisson.getReadWriteLock(name).readLock().lock();
        return now();
      case "readUnlock":
        redisson.getReadWriteLock(name).readLock().unlock();
        return now();
      case "setPermits":
        return redisson.getSemaphore(name).trySetPermits(Integer.parseInt(args[0]));
      case "contend":
        return contend(name, args[0], Integer.parseInt(args[1]), Long.parseLong(args[2]));
      default:
        throw new IllegalArgumentException("unknown command " + command);
    }
  }

  /** Several threads use the lock for some time: HOLDS WRITTEN REFUSED LONGEST_WAIT_MS. */
  private String contend(String name, String guarded, int count, long ms) throws InterruptedException {
    AtomicLong holds = new AtomicLong(), written = new AtomicLong(), refused = new AtomicLong();
    AtomicLong longest = new AtomicLong();
    CountDownLatch done = new CountDownLatch(count);
    long end = System.nanoTime() + ms * 1_000_000;
    for (int i = 0; i < count; i++) {
      new Thread(
              () -> {
                RFencedLock lock = redisson.getFencedLock(name);
                while (System.nanoTime() < end) {
                  long asked = System.nanoTime();
                  long token = lock.lockAndGetToken();
                  longest.accumulateAndGet((System.nanoTime() - asked) / 1_000_000, Math::max);
                  holds.incrementAndGet();
                  (increment(guarded, token) ? written : refused).incrementAndGet();
                  try {
                    lock.unlock();
                  } catch (IllegalMonitorStateException lost) {
                    // Broken by force, or expired while this process was stopped.
                  }
                }
                done.countDown();
              })
          .start();
    }
    done.await();
    return holds + " " + written + " " + refused + " " + longest;
  }

  /** What the lock guards: reads a number, works for a millisecond, writes the next one. */
  private boolean increment(String guarded, long token) {
    Long value = eval(ENTER, guarded, token);
    if (value < 0) return false;
    long until = System.nanoTime() + 1_000_000;
    while (System.nanoTime() < until) Thread.onSpinWait();
    return eval(LEAVE, guarded, token, value + 1) == 1;
  }

  private Long eval(String script, String key, Object... args) {
    return redisson
        .getScript(StringCodec.INSTANCE)
        .eval(RScript.Mode.READ_WRITE, script, NUMBER, List.of(key), args);
  }

  private static long now() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
  }
}
