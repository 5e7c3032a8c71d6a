import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.a2a.server.ServerCallContext;
import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.auth.UnauthenticatedUser;
import io.a2a.server.events.InMemoryQueueManager;
import io.a2a.server.events.MainEventBus;
import io.a2a.server.events.MainEventBusProcessor;
import io.a2a.server.requesthandlers.DefaultRequestHandler;
import io.a2a.server.tasks.AgentEmitter;
import io.a2a.server.tasks.InMemoryPushNotificationConfigStore;
import io.a2a.server.tasks.InMemoryTaskStore;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.FilePart;
import io.a2a.spec.Part;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TextPart;
import io.a2a.transport.rest.handler.RestHandler;
import io.a2a.transport.rest.handler.RestHandler.HTTPRestResponse;
import io.a2a.transport.rest.handler.RestHandler.HTTPRestStreamingResponse;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The REST handler of a2a-java 1.0 in the HTTP server of the JDK: its releases bring no server of their own. Prints its
 * address.
 */
public class Server {
    static final Map<String, CountDownLatch> waiting = new ConcurrentHashMap<>();
    static final Pattern task = Pattern.compile("/tasks/([^/:]+)(?::(cancel|subscribe))?");
    static RestHandler handler;

    public static void main(String[] options) throws Exception {
        HttpServer http = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        String url = "http://127.0.0.1:" + http.getAddress().getPort();
        AgentCard card = AgentCard.builder().name("Interop").description("Answers the checks of Parley.").version("1.0.0")
            .supportedInterfaces(List.of(new AgentInterface(options[0], url)))
            .capabilities(AgentCapabilities.builder().streaming(true).build())
            .defaultInputModes(List.of("text/plain", "application/octet-stream"))
            .defaultOutputModes(List.of("text/plain")).skills(List.of()).build();
        ExecutorService threads = Executors.newCachedThreadPool();
        InMemoryTaskStore tasks = new InMemoryTaskStore();
        MainEventBus bus = new MainEventBus();
        InMemoryQueueManager queues = new InMemoryQueueManager(tasks, bus);
        MainEventBusProcessor processor = new MainEventBusProcessor(bus, tasks, null, queues);
        // Only its container may start it.
        Method start = MainEventBusProcessor.class.getDeclaredMethod("start");
        start.setAccessible(true);
        start.invoke(processor);
        handler = new RestHandler(card, DefaultRequestHandler.create(new Executor(), tasks, queues,
            new InMemoryPushNotificationConfigStore(), processor, threads, threads), threads);
        http.setExecutor(threads);
        http.createContext("/", Server::answer);
        http.start();
        System.out.println(url);
    }

    static void answer(HttpExchange exchange) throws IOException {
        String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
        HTTPRestResponse response = call(exchange.getRequestURI().getPath(), body, contextOf(exchange));
        exchange.getResponseHeaders().set("content-type", response.getContentType());
        if (response instanceof HTTPRestStreamingResponse stream) {
            exchange.sendResponseHeaders(200, 0);
            write(stream.getPublisher(), exchange);
            return;
        }
        byte[] content = response.getBody().getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(response.getStatusCode(), content.length);
        exchange.getResponseBody().write(content);
        exchange.close();
    }

    static HTTPRestResponse call(String path, String body, ServerCallContext context) {
        Matcher named = task.matcher(path);
        if (named.matches() && named.group(2) == null) return handler.getTask(context, "", named.group(1), null);
        if (named.matches() && named.group(2).equals("cancel")) return handler.cancelTask(context, "", named.group(1));
        if (named.matches()) return handler.subscribeToTask(context, "", named.group(1));
        return switch (path) {
            case "/.well-known/agent-card.json" -> handler.getAgentCard();
            case "/message:send" -> handler.sendMessage(context, "", body);
            case "/message:stream" -> handler.sendStreamingMessage(context, "", body);
            case "/tasks" -> handler.listTasks(context, "", null, null, null, null, null, null, null);
            default -> new HTTPRestResponse(404, "text/plain", "not found");
        };
    }

    static ServerCallContext contextOf(HttpExchange exchange) {
        String version = exchange.getRequestHeaders().getFirst("A2A-Version");
        return new ServerCallContext(UnauthenticatedUser.INSTANCE, new HashMap<>(), Set.of(), version);
    }

    static void write(Flow.Publisher<String> events, HttpExchange exchange) {
        OutputStream out = exchange.getResponseBody();
        events.subscribe(new Flow.Subscriber<>() {
            Flow.Subscription subscription;

            @Override
            public void onSubscribe(Flow.Subscription opened) {
                subscription = opened;
                opened.request(1);
            }

            @Override
            public void onNext(String event) {
                try {
                    out.write(("data: " + event.replaceAll("\\s*\\n\\s*", " ") + "\n\n").getBytes(StandardCharsets.UTF_8));
                    out.flush();
                    subscription.request(1);
                } catch (IOException left) {
                    subscription.cancel();
                }
            }

            @Override
            public void onError(Throwable error) {
                exchange.close();
            }

            @Override
            public void onComplete() {
                exchange.close();
            }
        });
    }

    static class Executor implements AgentExecutor {
        @Override
        public void execute(RequestContext context, AgentEmitter emitter) {
            String said = context.getUserInput("");
            if (said.startsWith("echo ")) {
                emitter.sendMessage(said.substring(5));
                return;
            }
            if (context.getTask() != null && context.getTask().status().state() == TaskState.TASK_STATE_INPUT_REQUIRED) {
                emitter.complete(emitter.newAgentMessage(List.of(new TextPart("You chose " + said + ".")), null));
                return;
            }
            emitter.addTask(emitter.taskBuilder().status(new TaskStatus(TaskState.TASK_STATE_SUBMITTED))
                .history(List.of(context.getMessage())).build());
            emitter.startWork();
            switch (said) {
                case "file" -> {
                    emitter.addArtifact(context.getMessage().parts().stream().filter(part -> part instanceof FilePart)
                        .<Part<?>>map(part -> part).toList());
                    emitter.complete();
                }
                case "stream" -> {
                    List<String> chunks = List.of("one", "two", "three");
                    for (int i = 0; i < chunks.size(); i++)
                        emitter.addArtifact(List.of(new TextPart(chunks.get(i))), "a", null, null, i > 0, i == 2);
                    emitter.complete();
                }
                case "ask" -> emitter.requiresInput(emitter.newAgentMessage(List.of(new TextPart("Which colour?")), null), true);
                case "wait" -> waitForCancel(context.getTaskId());
                default -> emitter.complete();
            }
        }

        @Override
        public void cancel(RequestContext context, AgentEmitter emitter) {
            emitter.cancel();
            waiting.getOrDefault(context.getTaskId(), new CountDownLatch(0)).countDown();
        }

        static void waitForCancel(String taskId) {
            CountDownLatch canceled = new CountDownLatch(1);
            waiting.put(taskId, canceled);
            try {
                canceled.await(10, TimeUnit.MINUTES);
            } catch (InterruptedException error) {
                Thread.currentThread().interrupt();
            } finally {
                waiting.remove(taskId);
            }
        }
    }
}
