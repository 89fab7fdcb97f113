import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.SecureRandom;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.IntConsumer;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * A client with java.net.http. Arguments: URL, Authorization, number of workers. Calls until its input ends.
 *
 * Before JDK 24, java.net.http fails every open stream when it reads GOAWAY, also streams that GOAWAY covers
 * (JDK-8335181). So it repeats a call that failed, with the same Idempotency-Key, as an app would.
 */
public class Client {
    static volatile boolean done;

    static class TrustAll extends X509ExtendedTrustManager {
        public void checkClientTrusted(X509Certificate[] chain, String type) {}
        public void checkServerTrusted(X509Certificate[] chain, String type) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }

    public static void main(String[] arguments) throws Exception {
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new TrustAll()}, new SecureRandom());
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).sslContext(context).build();
        run(arguments[2], worker -> work(client, arguments[0], arguments[1], worker));
    }

    /** Runs the workers, on a thread each, until the input ends. */
    static void run(String workers, IntConsumer work) throws Exception {
        ArrayList<Thread> threads = new ArrayList<>();
        for (int index = 0; index < Integer.parseInt(workers); index++) {
            int worker = index;
            Thread thread = new Thread(() -> work.accept(worker));
            thread.start();
            threads.add(thread);
        }
        while (System.in.read() >= 0) {}
        done = true;
        for (Thread thread : threads) thread.join();
        System.exit(0);
    }

    static void work(HttpClient client, String url, String login, int worker) {
        for (int count = 0; !done; count++) {
            String message = "id java-" + worker + "-" + count;
            HttpRequest request = HttpRequest.newBuilder(URI.create(url)).header("Authorization", login)
                .header("Content-Type", "application/json").header("Idempotency-Key", '"' + message.substring(3) + '"')
                .timeout(Duration.ofSeconds(60))
                .POST(HttpRequest.BodyPublishers.ofString('"' + message + '"')).build();
            System.out.println("sent");
            String result = "";
            for (int attempt = 0; attempt < 3 && !result.startsWith("ok "); attempt++) {
                try {
                    HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
                    boolean isGood = response.statusCode() == 200 && response.version() == HttpClient.Version.HTTP_2;
                    result = isGood ? "ok " + message : "failed " + response.statusCode() + response.version();
                } catch (Exception error) {
                    result = "failed " + error.getClass().getName();
                    System.out.println("repeated " + result);
                }
            }
            System.out.println(result);
            try { Thread.sleep(ThreadLocalRandom.current().nextInt(100)); } catch (InterruptedException end) { return; }
        }
    }
}
