package main

import (
	"context"
	"fmt"
	"iter"
	"net"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/a2aproject/a2a-go/v2/a2asrv/push"
	"google.golang.org/grpc"
)

type executor struct{}

func (executor) Execute(ctx context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	said := call.Message.Parts[0].Text()
	message := func(text string) *a2a.Message {
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, call, a2a.NewTextPart(text))
	}
	status := func(state a2a.TaskState, message *a2a.Message) a2a.Event {
		return a2a.NewStatusUpdateEvent(call, state, message)
	}
	if strings.HasPrefix(said, "echo ") {
		return events(a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(said[5:])))
	}
	if call.StoredTask != nil {
		return events(status(a2a.TaskStateCompleted, message("You chose "+said+".")))
	}
	task, working := a2a.NewSubmittedTask(call, call.Message), status(a2a.TaskStateWorking, nil)
	completed := status(a2a.TaskStateCompleted, nil)
	switch said {
	case "file":
		return events(task, working, a2a.NewArtifactEvent(call, call.Message.Parts[1:]...), completed)
	case "stream":
		first := a2a.NewArtifactEvent(call, a2a.NewTextPart("one"))
		second := a2a.NewArtifactUpdateEvent(call, first.Artifact.ID, a2a.NewTextPart("two"))
		last := a2a.NewArtifactUpdateEvent(call, first.Artifact.ID, a2a.NewTextPart("three"))
		last.LastChunk = true
		return events(task, working, first, second, last, completed)
	case "ask":
		return events(task, working, status(a2a.TaskStateInputRequired, message("Which colour?")))
	case "wait":
		return func(yield func(a2a.Event, error) bool) {
			if yield(task, nil) && yield(working, nil) {
				<-ctx.Done()
			}
		}
	}
	return events(task, working, completed)
}

func (executor) Cancel(_ context.Context, call *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return events(a2a.NewStatusUpdateEvent(call, a2a.TaskStateCanceled, nil))
}

func events(all ...a2a.Event) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for _, event := range all {
			if !yield(event, nil) {
				return
			}
		}
	}
}

// serve runs an agent over a transport, and prints its address.
func serve(transport string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	address := url
	handler := a2asrv.NewHandler(executor{}, a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))
	mux := http.NewServeMux()
	switch transport {
	case "GRPC":
		calls, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		address = calls.Addr().String()
		server := grpc.NewServer()
		a2agrpc.NewHandler(handler).RegisterWith(server)
		go server.Serve(calls)
	case "HTTP+JSON":
		mux.Handle("/", a2asrv.NewRESTHandler(handler))
	default:
		mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	}
	agent := &a2a.AgentCard{
		Name: "Interop", Description: "Answers the checks of Parley.", Version: "1.0.0",
		SupportedInterfaces: []*a2a.AgentInterface{a2a.NewAgentInterface(address, a2a.TransportProtocol(transport))},
		DefaultInputModes:   []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true}, Skills: []a2a.AgentSkill{},
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(agent))
	fmt.Println(url)
	return http.Serve(listener, mux)
}
