package interop;

import io.quarkus.runtime.Quarkus;
import io.quarkus.runtime.annotations.QuarkusMain;
import java.net.InetAddress;
import java.net.ServerSocket;

/** The reference server of a2a-java 0.3, over the transport that its argument names. Prints its address. */
@QuarkusMain
public class Main {
    static String transport;
    static String url;
    static int grpcPort;

    public static void main(String[] options) throws Exception {
        transport = options[0];
        int port = freePort();
        grpcPort = freePort();
        url = "http://127.0.0.1:" + port;
        System.setProperty("quarkus.http.host", "127.0.0.1");
        System.setProperty("quarkus.http.port", String.valueOf(port));
        System.setProperty("quarkus.banner.enabled", "false");
        System.setProperty("quarkus.log.level", "ERROR");
        // The SDK would reject a card with a transport for which it brings no server of its own.
        System.setProperty("io.a2a.transport.skipValidation", "true");
        System.out.println(url);
        Quarkus.run();
    }

    static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
