// The client of a2a-go 2.x, which runs checks and prints each result as a line of JSON, and its server.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	a2agrpc "github.com/a2aproject/a2a-go/v2/a2agrpc/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

var client *a2aclient.Client
var card *a2a.AgentCard

func send(ctx context.Context, request *a2a.SendMessageRequest) (*a2a.Task, *a2a.Message, error) {
	result, err := client.SendMessage(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	task, _ := result.(*a2a.Task)
	message, _ := result.(*a2a.Message)
	return task, message, nil
}

func request(parts ...*a2a.Part) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
}

func textOf(message *a2a.Message) string {
	if message == nil {
		return ""
	}
	texts := []string{}
	for _, part := range message.Parts {
		texts = append(texts, part.Text())
	}
	return strings.Join(texts, "|")
}

func expect(actual any, expected any) error {
	if actual != expected {
		return fmt.Errorf("expected %v, got %v", expected, actual)
	}
	return nil
}

func readCard(context.Context) error { return expect(card.Name, "Interop") }

func sendText(ctx context.Context) error {
	_, message, err := send(ctx, request(a2a.NewTextPart("echo grüße")))
	if err != nil {
		return err
	}
	return expect(textOf(message), "grüße")
}

func exchangeFiles(ctx context.Context) error {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	// The second file is a base64 text itself.
	for _, content := range [][]byte{all, []byte("aGVsbG8gd29ybGQh")} {
		file := a2a.NewRawPart(content)
		file.Filename = "a.bin"
		file.MediaType = "application/octet-stream"
		task, _, err := send(ctx, request(a2a.NewTextPart("file"), file))
		if err != nil {
			return err
		}
		if task == nil || len(task.Artifacts) == 0 || !bytes.Equal(task.Artifacts[0].Parts[0].Raw(), content) {
			return errors.New("the file did not come back as it was sent")
		}
		if err := expect(task.Artifacts[0].Description, fmt.Sprintf("%d bytes", len(content))); err != nil {
			return err
		}
	}
	return nil
}

func stream(ctx context.Context) error {
	text, state := "", a2a.TaskState("")
	for event, err := range client.SendStreamingMessage(ctx, request(a2a.NewTextPart("stream"))) {
		if err != nil {
			return err
		}
		switch event := event.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			text += event.Artifact.Parts[0].Text()
		case *a2a.TaskStatusUpdateEvent:
			state = event.Status.State
		}
	}
	if err := expect(text, "onetwothree"); err != nil {
		return err
	}
	return expect(state, a2a.TaskStateCompleted)
}

func question(ctx context.Context) error {
	task, _, err := send(ctx, request(a2a.NewTextPart("ask")))
	if err != nil {
		return err
	}
	if err := expect(textOf(task.Status.Message), "Which colour?"); err != nil {
		return err
	}
	answer := &a2a.SendMessageRequest{Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("green"))}
	done, _, err := send(ctx, answer)
	if err != nil {
		return err
	}
	return expect(done.Artifacts[len(done.Artifacts)-1].Parts[0].Text(), "You chose green.")
}

func cancel(ctx context.Context) error {
	waiting := request(a2a.NewTextPart("wait"))
	waiting.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
	task, _, err := send(ctx, waiting)
	if err != nil {
		return err
	}
	canceled, err := client.CancelTask(ctx, &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil {
		return err
	}
	return expect(canceled.Status.State, a2a.TaskStateCanceled)
}

func unknownTask(ctx context.Context) error {
	_, err := client.GetTask(ctx, &a2a.GetTaskRequest{ID: "no-such-task"})
	if !errors.Is(err, a2a.ErrTaskNotFound) {
		return fmt.Errorf("expected a task that is not found, got %v", err)
	}
	return nil
}

func over(transport string) a2aclient.FactoryOption {
	switch transport {
	case "GRPC":
		return a2agrpc.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))
	case "HTTP+JSON":
		return a2aclient.WithRESTTransport(nil)
	}
	return a2aclient.WithJSONRPCTransport(nil)
}

func main() {
	if os.Args[1] == "serve" {
		fmt.Fprintln(os.Stderr, serve(os.Args[2]))
		os.Exit(1)
	}
	ctx := context.Background()
	var err error
	if card, err = agentcard.DefaultResolver.Resolve(ctx, os.Args[1]); err == nil {
		client, err = a2aclient.NewFromCard(ctx, card, a2aclient.WithDefaultsDisabled(), over(os.Args[2]))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	checks := []struct {
		name string
		run  func(context.Context) error
	}{
		{"card", readCard}, {"text", sendText}, {"files", exchangeFiles}, {"streaming", stream},
		{"question", question}, {"cancel", cancel}, {"errors", unknownTask},
	}
	for _, check := range checks {
		bounded, stop := context.WithTimeout(ctx, 20*time.Second)
		line := map[string]any{"check": check.name, "ok": true}
		if err := check.run(bounded); err != nil {
			line["ok"] = false
			line["detail"] = err.Error()
		}
		stop()
		text, _ := json.Marshal(line)
		fmt.Println(string(text))
	}
}
