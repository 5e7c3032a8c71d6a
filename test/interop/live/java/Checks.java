import io.a2a.A2A;
import io.a2a.client.Client;
import io.a2a.client.ClientEvent;
import io.a2a.client.MessageEvent;
import io.a2a.client.TaskEvent;
import io.a2a.client.TaskUpdateEvent;
import io.a2a.client.config.ClientConfig;
import io.a2a.client.transport.grpc.GrpcTransport;
import io.a2a.client.transport.grpc.GrpcTransportConfigBuilder;
import io.a2a.client.transport.jsonrpc.JSONRPCTransport;
import io.a2a.client.transport.jsonrpc.JSONRPCTransportConfigBuilder;
import io.a2a.client.transport.rest.RestTransport;
import io.a2a.client.transport.rest.RestTransportConfigBuilder;
import io.a2a.spec.AgentCard;
import io.a2a.spec.FilePart;
import io.a2a.spec.FileWithBytes;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.Task;
import io.a2a.spec.TaskArtifactUpdateEvent;
import io.a2a.spec.TaskIdParams;
import io.a2a.spec.TaskQueryParams;
import io.a2a.spec.TaskState;
import io.a2a.spec.TextPart;
import io.grpc.ManagedChannelBuilder;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;

/** The client of a2a-java 0.3 and 1.0: runs checks and prints each result as a line of JSON. */
public class Checks {
    static String transport;
    static AgentCard card;

    public static void main(String[] options) throws Exception {
        transport = options[1];
        card = A2A.getAgentCard(options[0]);
        report("card", () -> expect(read(card, "name"), "Interop"));
        report("text", () -> expect(textOf(last(A2A.toUserMessage("echo grüße"), false)), "grüße"));
        report("files", Checks::exchangeFiles);
        report("streaming", Checks::stream);
        report("question", Checks::question);
        // The alpha versions of 1.0 have no way to return at once.
        if (!Message.class.isRecord()) report("cancel", Checks::cancel);
        report("errors", Checks::unknownTask);
        System.exit(0);
    }

    static Void exchangeFiles() throws Exception {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++) all[i] = (byte) i;
        // The second file is a base64 text itself.
        for (byte[] content : List.of(all, "aGVsbG8gd29ybGQh".getBytes())) {
            String encoded = Base64.getEncoder().encodeToString(content);
            FilePart file = new FilePart(new FileWithBytes("application/octet-stream", "a.bin", encoded));
            Message message = builder().role((Message.Role) read(A2A.toUserMessage("file"), "role")).messageId("m-" + System.nanoTime())
                .parts(List.<Part<?>>of(new TextPart("file"), file)).build();
            Task task = taskOf(last(message, false));
            Object artifact = ((List<?>) read(task, "artifacts")).get(0);
            expect(read(artifact, "description"), content.length + " bytes");
            Object part = parts(artifact).get(0);
            expect(read(read(part, "file"), "bytes"), encoded);
        }
        return null;
    }

    static Void stream() throws Exception {
        StringBuilder text = new StringBuilder();
        for (ClientEvent event : events(A2A.toUserMessage("stream"), true)) {
            if (event instanceof TaskUpdateEvent update && update.getUpdateEvent() instanceof TaskArtifactUpdateEvent chunk)
                text.append(read(parts(read(chunk, "artifact")).get(0), "text"));
        }
        return expect(text.toString(), "onetwothree");
    }

    static Void question() throws Exception {
        Task task = taskOf(last(A2A.toUserMessage("ask"), false));
        expect(textIn(read(read(task, "status"), "message")), "Which colour?");
        String context = (String) read(task, "contextId");
        Message answer = A2A.createUserTextMessage("green", context, (String) read(task, "id"));
        return expect(textIn(read(read(taskOf(last(answer, false)), "status"), "message")), "You chose green.");
    }

    static Void cancel() throws Exception {
        CompletableFuture<String> started = new CompletableFuture<>();
        // The client returns at once when it polls.
        Client client = create(ClientConfig.builder().setStreaming(false).setPolling(true), (event, agent) -> {
            if (!(event instanceof MessageEvent)) started.complete((String) read(taskOf(event), "id"));
        });
        client.sendMessage(A2A.toUserMessage("wait"));
        Task canceled = client.cancelTask(new TaskIdParams(started.get(10, TimeUnit.SECONDS)));
        return expect(read(read(canceled, "status"), "state").toString().replace("TASK_STATE_", ""), "CANCELED");
    }

    static Void unknownTask() throws Exception {
        try {
            create(false, (event, agent) -> {}).getTask(new TaskQueryParams("no-such-task"));
        } catch (Exception error) {
            for (Throwable cause = error; cause != null; cause = cause.getCause())
                if (cause.getClass().getSimpleName().equals("TaskNotFoundError")) return null;
            throw error;
        }
        throw new IllegalStateException("expected an error");
    }

    static ClientEvent last(Message message, boolean streaming) throws Exception {
        List<ClientEvent> events = events(message, streaming);
        return events.get(events.size() - 1);
    }

    /** All events until the answer is complete. */
    static List<ClientEvent> events(Message message, boolean streaming) throws Exception {
        LinkedBlockingQueue<Object> queue = new LinkedBlockingQueue<>();
        List<BiConsumer<ClientEvent, AgentCard>> consumers = List.of((event, agent) -> queue.add(event));
        create(streaming, (event, agent) -> {}).sendMessage(message, consumers, error -> {
            if (error != null) queue.add(error);
        });
        List<ClientEvent> events = new java.util.ArrayList<>();
        while (true) {
            Object next = queue.poll(15, TimeUnit.SECONDS);
            if (next == null) throw new IllegalStateException("no event within 15 seconds");
            if (next instanceof Throwable error) throw new IllegalStateException(error);
            events.add((ClientEvent) next);
            if (next instanceof MessageEvent || isIdle(taskOf((ClientEvent) next))) return events;
        }
    }

    static boolean isIdle(Task task) {
        TaskState state = (TaskState) read(read(task, "status"), "state");
        return state.isFinal() || state.toString().endsWith("INPUT_REQUIRED");
    }

    static Client create(boolean streaming, BiConsumer<ClientEvent, AgentCard> consumer) throws Exception {
        return create(ClientConfig.builder().setStreaming(streaming), consumer);
    }

    static Client create(ClientConfig.Builder config, BiConsumer<ClientEvent, AgentCard> consumer) throws Exception {
        var builder = Client.builder(card).addConsumer(consumer).streamingErrorHandler(error -> {})
            .clientConfig(config.build());
        return switch (transport) {
            case "JSONRPC" -> builder.withTransport(JSONRPCTransport.class, new JSONRPCTransportConfigBuilder()).build();
            case "GRPC" -> builder.withTransport(GrpcTransport.class, new GrpcTransportConfigBuilder()
                .channelFactory(target -> ManagedChannelBuilder.forTarget(target).usePlaintext().build())).build();
            default -> builder.withTransport(RestTransport.class, new RestTransportConfigBuilder()).build();
        };
    }

    static Task taskOf(ClientEvent event) {
        if (event instanceof TaskEvent task) return task.getTask();
        if (event instanceof TaskUpdateEvent update) return update.getTask();
        throw new IllegalStateException("expected a task, got a message");
    }

    static String textOf(ClientEvent event) {
        if (event instanceof MessageEvent message) return textIn(message.getMessage());
        throw new IllegalStateException("expected a message, got a task");
    }

    static String textIn(Object message) {
        return parts(message).stream().map(part -> (String) read(part, "text")).reduce("", (all, text) -> all + text);
    }

    static List<?> parts(Object holder) {
        return (List<?>) read(holder, "parts");
    }

    /** Reads a member: 1.0 has records, 0.3 has methods that begin with get. */
    static Object read(Object object, String name) {
        String getter = "get" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
        for (String method : List.of(name, getter)) {
            try {
                return object.getClass().getMethod(method).invoke(object);
            } catch (NoSuchMethodException missing) {
                // The other version has it.
            } catch (ReflectiveOperationException error) {
                throw new IllegalStateException(error);
            }
        }
        throw new IllegalStateException(object.getClass() + " has no " + name);
    }

    static Message.Builder builder() throws ReflectiveOperationException {
        try {
            return (Message.Builder) Message.class.getMethod("builder").invoke(null);
        } catch (NoSuchMethodException missing) {
            return Message.Builder.class.getConstructor().newInstance();
        }
    }

    static Void expect(Object actual, Object expected) {
        if (!expected.equals(actual)) throw new IllegalStateException("expected " + expected + ", got " + actual);
        return null;
    }

    static void report(String name, Callable<Void> check) {
        String result = "\"ok\":true}";
        try {
            CompletableFuture.supplyAsync(() -> {
                try {
                    return check.call();
                } catch (Exception error) {
                    throw new IllegalStateException(error);
                }
            }).get(20, TimeUnit.SECONDS);
        } catch (Exception error) {
            error.printStackTrace();
            String detail = String.valueOf(error.getMessage()).replaceAll("[\"\\\\\\p{Cntrl}]", " ");
            result = "\"ok\":false,\"detail\":\"" + detail.substring(0, Math.min(300, detail.length())) + "\"}";
        }
        System.out.println("{\"check\":\"" + name + "\"," + result);
    }
}
