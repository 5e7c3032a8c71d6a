package interop;

import io.a2a.server.PublicAgentCard;
import io.a2a.server.agentexecution.AgentExecutor;
import io.a2a.server.agentexecution.RequestContext;
import io.a2a.server.events.EventQueue;
import io.a2a.server.requesthandlers.RequestHandler;
import io.a2a.server.tasks.TaskUpdater;
import io.a2a.server.util.async.Internal;
import io.a2a.spec.AgentCapabilities;
import io.a2a.spec.AgentCard;
import io.a2a.spec.AgentInterface;
import io.a2a.spec.FilePart;
import io.a2a.spec.Message;
import io.a2a.spec.Part;
import io.a2a.spec.Task;
import io.a2a.spec.TaskState;
import io.a2a.spec.TaskStatus;
import io.a2a.spec.TextPart;
import io.a2a.transport.grpc.handler.CallContextFactory;
import io.a2a.transport.grpc.handler.GrpcHandler;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.quarkus.runtime.StartupEvent;
import jakarta.enterprise.context.ApplicationScoped;
import jakarta.enterprise.event.Observes;
import jakarta.enterprise.inject.Produces;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;

/** The agent that answers the checks, and its card. */
@ApplicationScoped
public class Agent {
    /** The tasks at work, by their ids. */
    static final Map<String, CountDownLatch> waiting = new ConcurrentHashMap<>();

    @Produces
    @PublicAgentCard
    AgentCard card() {
        String address = Main.transport.equals("GRPC") ? "127.0.0.1:" + Main.grpcPort : Main.url;
        return new AgentCard.Builder().name("Interop").description("Answers the checks of Parley.").version("1.0.0")
            .url(address).preferredTransport(Main.transport)
            .additionalInterfaces(List.of(new AgentInterface(Main.transport, address)))
            .capabilities(new AgentCapabilities.Builder().streaming(true).pushNotifications(true).build())
            .defaultInputModes(List.of("text/plain", "application/octet-stream"))
            .defaultOutputModes(List.of("text/plain")).skills(List.of()).protocolVersion("0.3.0").build();
    }

    @Produces
    AgentExecutor executor() {
        return new AgentExecutor() {
            @Override
            public void execute(RequestContext context, EventQueue queue) {
                answer(context, queue, new TaskUpdater(context, queue));
            }

            @Override
            public void cancel(RequestContext context, EventQueue queue) {
                new TaskUpdater(context, queue).cancel();
                waiting.getOrDefault(context.getTaskId(), new CountDownLatch(0)).countDown();
            }
        };
    }

    static void answer(RequestContext context, EventQueue queue, TaskUpdater updater) {
        String said = context.getUserInput("");
        if (said.startsWith("echo ")) {
            queue.enqueueEvent(message(updater, said.substring(5)));
            return;
        }
        if (context.getTask() != null && context.getTask().getStatus().state() == TaskState.INPUT_REQUIRED) {
            updater.complete(message(updater, "You chose " + said + "."));
            return;
        }
        queue.enqueueEvent(new Task.Builder().id(context.getTaskId()).contextId(context.getContextId())
            .status(new TaskStatus(TaskState.SUBMITTED)).history(context.getMessage()).build());
        updater.startWork();
        switch (said) {
            case "file" -> {
                List<Part<?>> files = context.getMessage().getParts().stream().filter(part -> part instanceof FilePart)
                    .<Part<?>>map(part -> part).toList();
                updater.addArtifact(files);
                updater.complete();
            }
            case "stream" -> {
                List<String> chunks = List.of("one", "two", "three");
                for (int i = 0; i < chunks.size(); i++)
                    updater.addArtifact(List.of(new TextPart(chunks.get(i))), "a", null, null, i > 0, i == 2);
                updater.complete();
            }
            case "ask" -> updater.requiresInput(message(updater, "Which colour?"), true);
            case "wait" -> waitForCancel(context.getTaskId());
            default -> updater.complete();
        }
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

    static Message message(TaskUpdater updater, String text) {
        return updater.newAgentMessage(List.of(new TextPart(text)), null);
    }

    /** gRPC has no reference server in this release: the handler of the SDK runs in a server of its own. */
    void serveGrpc(@Observes StartupEvent event, RequestHandler handler, @Internal Executor executor, @PublicAgentCard AgentCard card)
            throws Exception {
        if (!Main.transport.equals("GRPC")) return;
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", Main.grpcPort)).addService(new GrpcHandler() {
            @Override
            protected RequestHandler getRequestHandler() {
                return handler;
            }

            @Override
            protected AgentCard getAgentCard() {
                return card;
            }

            @Override
            protected CallContextFactory getCallContextFactory() {
                return null;
            }

            @Override
            protected Executor getExecutor() {
                return executor;
            }
        }).build().start();
    }
}
