import java.security.SecureRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import okhttp3.MediaType;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import okhttp3.Response;

/** A client with OkHttp. Arguments: URL, Authorization, number of workers. Calls until its input ends. */
public class OkHttp {
    public static void main(String[] arguments) throws Exception {
        Client.TrustAll trust = new Client.TrustAll();
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {trust}, new SecureRandom());
        OkHttpClient client = new OkHttpClient.Builder().sslSocketFactory(context.getSocketFactory(), trust)
            .hostnameVerifier((host, session) -> true).connectTimeout(60, TimeUnit.SECONDS)
            .readTimeout(60, TimeUnit.SECONDS).build();
        Client.run(arguments[2], worker -> work(client, arguments[0], arguments[1], worker));
    }

    static void work(OkHttpClient client, String url, String login, int worker) {
        for (int count = 0; !Client.done; count++) {
            String message = "id okhttp-" + worker + "-" + count;
            RequestBody body = RequestBody.create(MediaType.get("application/json"), '"' + message + '"');
            Request request = new Request.Builder().url(url).header("Authorization", login).post(body).build();
            System.out.println("sent");
            try (Response response = client.newCall(request).execute()) {
                boolean isGood = response.code() == 200 && response.protocol() == Protocol.HTTP_2;
                System.out.println(isGood ? "ok " + message : "failed " + response.code() + response.protocol());
            } catch (Exception error) {
                System.out.println("failed " + error);
            }
            try { Thread.sleep(ThreadLocalRandom.current().nextInt(100)); } catch (InterruptedException end) { return; }
        }
    }
}
