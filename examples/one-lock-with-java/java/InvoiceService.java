import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** POST /orders/ID/invoice: the Nest service ships orders under the same lock. */
public final class InvoiceService {
  public static void main(String[] args) throws IOException {
    Config config = new Config();
    config.useSingleServer().setAddress(System.getenv("REDIS_URL"));
    RedissonClient redisson = Redisson.create(config);
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress("localhost", port), 0);
    server.setExecutor(Executors.newCachedThreadPool());
    server.createContext("/orders/", exchange -> invoice(redisson, exchange));
    server.start();
    System.out.println("the Java service is ready on http://localhost:" + port);
  }

  private static void invoice(RedissonClient redisson, HttpExchange exchange) throws IOException {
    String id = exchange.getRequestURI().getPath().split("/")[2];
    RFencedLock lock = redisson.getFencedLock("order:" + id);
    long token = lock.lockAndGetToken();
    try {
      Thread.sleep(1_000); // the work
      String reply = "{\"order\":\"" + id + "\",\"invoicedBy\":\"Java\",\"token\":" + token + "}";
      byte[] body = reply.getBytes(StandardCharsets.UTF_8);
      exchange.sendResponseHeaders(201, body.length);
      exchange.getResponseBody().write(body);
    } catch (InterruptedException stopped) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
      exchange.close();
    }
  }
}
