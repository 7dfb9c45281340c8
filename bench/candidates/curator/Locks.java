import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryForever;

/**
 * Acquires and releases Curator's lock on request from standard input: "<caller> <path>" acquires it, "<caller>" releases
 * it. Each reply is "<caller>". A lock belongs to a thread, so each caller has its own.
 */
public class Locks {
  public static void main(String[] args) throws Exception {
    CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], 40_000, 15_000, new RetryForever(100));
    client.start();
    client.blockUntilConnected();
    ExecutorService threads = Executors.newCachedThreadPool();
    Map<String, BlockingQueue<String>> releases = new ConcurrentHashMap<>();
    PrintStream out = new PrintStream(System.out, true);
    out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      int space = line.indexOf(' ');
      if (space < 0) {
        releases.get(line).put("release");
        continue;
      }
      String caller = line.substring(0, space);
      String path = line.substring(space + 1);
      BlockingQueue<String> release = releases.computeIfAbsent(caller, each -> new SynchronousQueue<>());
      threads.submit(
          () -> {
            try {
              InterProcessMutex mutex = new InterProcessMutex(client, path);
              mutex.acquire();
              out.println(caller);
              release.take();
              mutex.release();
              out.println(caller);
            } catch (Exception error) {
              error.printStackTrace();
              System.exit(1);
            }
          });
    }
    System.exit(0);
  }
}
