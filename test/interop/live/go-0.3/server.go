package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2agrpc"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/a2aproject/a2a-go/a2asrv/push"
	"google.golang.org/grpc"
)

type executor struct{}

func (executor) Execute(ctx context.Context, request *a2asrv.RequestContext, queue eventqueue.Queue) error {
	said := textIn(request.Message.Parts[0])
	message := func(text string) *a2a.Message {
		return a2a.NewMessageForTask(a2a.MessageRoleAgent, request, a2a.TextPart{Text: text})
	}
	if strings.HasPrefix(said, "echo ") {
		return queue.Write(ctx, a2a.NewMessage(a2a.MessageRoleAgent, a2a.TextPart{Text: said[5:]}))
	}
	finish := func(state a2a.TaskState, message *a2a.Message) error {
		event := a2a.NewStatusUpdateEvent(request, state, message)
		event.Final = true
		return queue.Write(ctx, event)
	}
	if request.StoredTask != nil {
		return finish(a2a.TaskStateCompleted, message("You chose "+said+"."))
	}
	if err := queue.Write(ctx, a2a.NewSubmittedTask(request, request.Message)); err != nil {
		return err
	}
	if err := queue.Write(ctx, a2a.NewStatusUpdateEvent(request, a2a.TaskStateWorking, nil)); err != nil {
		return err
	}
	switch said {
	case "file":
		if err := queue.Write(ctx, a2a.NewArtifactEvent(request, request.Message.Parts[1:]...)); err != nil {
			return err
		}
	case "stream":
		first := a2a.NewArtifactEvent(request, a2a.TextPart{Text: "one"})
		id := first.Artifact.ID
		last := a2a.NewArtifactUpdateEvent(request, id, a2a.TextPart{Text: "three"})
		last.LastChunk = true
		chunks := []a2a.Event{first, a2a.NewArtifactUpdateEvent(request, id, a2a.TextPart{Text: "two"}), last}
		for _, chunk := range chunks {
			if err := queue.Write(ctx, chunk); err != nil {
				return err
			}
		}
	case "ask":
		return finish(a2a.TaskStateInputRequired, message("Which colour?"))
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	}
	return finish(a2a.TaskStateCompleted, nil)
}

func (executor) Cancel(ctx context.Context, request *a2asrv.RequestContext, queue eventqueue.Queue) error {
	event := a2a.NewStatusUpdateEvent(request, a2a.TaskStateCanceled, nil)
	event.Final = true
	return queue.Write(ctx, event)
}

// serve runs an agent over a transport, and prints its address.
func serve(transport string) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String()
	handler := a2asrv.NewHandler(executor{}, a2asrv.WithPushNotifications(push.NewInMemoryStore(), push.NewHTTPPushSender(nil)))
	agent := &a2a.AgentCard{
		Name: "Interop", Description: "Answers the checks of Parley.", Version: "1.0.0", ProtocolVersion: "0.3.0",
		URL: url, PreferredTransport: a2a.TransportProtocol(transport),
		DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
		Capabilities: a2a.AgentCapabilities{Streaming: true, PushNotifications: true}, Skills: []a2a.AgentSkill{},
	}
	mux := http.NewServeMux()
	if transport == "GRPC" {
		calls, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		agent.URL = calls.Addr().String()
		server := grpc.NewServer()
		a2agrpc.NewHandler(handler).RegisterWith(server)
		go server.Serve(calls)
	} else {
		mux.Handle("/", a2asrv.NewJSONRPCHandler(handler))
	}
	mux.Handle(a2asrv.WellKnownAgentCardPath, a2asrv.NewStaticAgentCardHandler(agent))
	fmt.Println(url)
	return http.Serve(listener, mux)
}
