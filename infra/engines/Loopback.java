import java.lang.reflect.Field;
import java.net.InetAddress;
import java.util.Arrays;

/**
 * Runs the main class that is named first, with every server of it on loopback.
 *
 * <p>Beam's job server, and what Beam opens in Flink's task managers while a job runs, listen on
 * every interface of the machine and have no option for it. Java asks one object what "every
 * interface" is; here it answers 127.0.0.1. Needs --add-opens=java.base/java.net=ALL-UNNAMED.
 */
public final class Loopback {
    public static void main(String[] arguments) throws Exception {
        Field answering = InetAddress.class.getDeclaredField("impl");
        answering.setAccessible(true);
        Object addresses = answering.get(null);
        Field every = addresses.getClass().getDeclaredField("anyLocalAddress");
        every.setAccessible(true);
        every.set(addresses, InetAddress.getByAddress("localhost", new byte[] {127, 0, 0, 1}));
        String[] rest = Arrays.copyOfRange(arguments, 1, arguments.length);
        Class.forName(arguments[0]).getMethod("main", String[].class).invoke(null, (Object) rest);
    }
}
