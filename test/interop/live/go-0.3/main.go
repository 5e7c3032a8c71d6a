// The client of a2a-go 0.3, which runs checks and prints each result as a line of JSON, and its server.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2aclient"
	"github.com/a2aproject/a2a-go/a2aclient/agentcard"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

var client *a2aclient.Client
var card *a2a.AgentCard

func send(ctx context.Context, request *a2a.MessageSendParams) (*a2a.Task, *a2a.Message, error) {
	result, err := client.SendMessage(ctx, request)
	if err != nil {
		return nil, nil, err
	}
	task, _ := result.(*a2a.Task)
	message, _ := result.(*a2a.Message)
	return task, message, nil
}

func request(parts ...a2a.Part) *a2a.MessageSendParams {
	return &a2a.MessageSendParams{Message: a2a.NewMessage(a2a.MessageRoleUser, parts...)}
}

func textOf(message *a2a.Message) string {
	if message == nil {
		return ""
	}
	texts := []string{}
	for _, part := range message.Parts {
		texts = append(texts, textIn(part))
	}
	return strings.Join(texts, "|")
}

func textIn(part a2a.Part) string {
	switch part := part.(type) {
	case a2a.TextPart:
		return part.Text
	case *a2a.TextPart:
		return part.Text
	}
	return fmt.Sprintf("%T", part)
}

func expect(actual any, expected any) error {
	if actual != expected {
		return fmt.Errorf("expected %v, got %v", expected, actual)
	}
	return nil
}

func readCard(context.Context) error { return expect(card.Name, "Interop") }

func sendText(ctx context.Context) error {
	_, message, err := send(ctx, request(a2a.TextPart{Text: "echo grüße"}))
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
		encoded := base64.StdEncoding.EncodeToString(content)
		meta := a2a.FileMeta{Name: "a.bin", MimeType: "application/octet-stream"}
		file := a2a.FilePart{File: a2a.FileBytes{Bytes: encoded, FileMeta: meta}}
		task, _, err := send(ctx, request(a2a.TextPart{Text: "file"}, file))
		if err != nil {
			return err
		}
		if task == nil || len(task.Artifacts) == 0 || bytesIn(task.Artifacts[0].Parts[0]) != encoded {
			return errors.New("the file did not come back as it was sent")
		}
		if err := expect(task.Artifacts[0].Description, fmt.Sprintf("%d bytes", len(content))); err != nil {
			return err
		}
	}
	return nil
}

func bytesIn(part a2a.Part) string {
	if file, ok := part.(a2a.FilePart); ok {
		if content, ok := file.File.(a2a.FileBytes); ok {
			return content.Bytes
		}
	}
	return ""
}

func stream(ctx context.Context) error {
	text, state := "", a2a.TaskState("")
	for event, err := range client.SendStreamingMessage(ctx, request(a2a.TextPart{Text: "stream"})) {
		if err != nil {
			return err
		}
		switch event := event.(type) {
		case *a2a.TaskArtifactUpdateEvent:
			text += textIn(event.Artifact.Parts[0])
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
	task, _, err := send(ctx, request(a2a.TextPart{Text: "ask"}))
	if err != nil {
		return err
	}
	if err := expect(textOf(task.Status.Message), "Which colour?"); err != nil {
		return err
	}
	answer := &a2a.MessageSendParams{Message: a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.TextPart{Text: "green"})}
	done, _, err := send(ctx, answer)
	if err != nil {
		return err
	}
	return expect(textIn(done.Artifacts[len(done.Artifacts)-1].Parts[0]), "You chose green.")
}

func cancel(ctx context.Context) error {
	waiting := request(a2a.TextPart{Text: "wait"})
	blocking := false
	waiting.Config = &a2a.MessageSendConfig{Blocking: &blocking}
	task, _, err := send(ctx, waiting)
	if err != nil {
		return err
	}
	canceled, err := client.CancelTask(ctx, &a2a.TaskIDParams{ID: task.ID})
	if err != nil {
		return err
	}
	return expect(canceled.Status.State, a2a.TaskStateCanceled)
}

func unknownTask(ctx context.Context) error {
	_, err := client.GetTask(ctx, &a2a.TaskQueryParams{ID: "no-such-task"})
	// Over gRPC, the client returns the status as it is.
	if !errors.Is(err, a2a.ErrTaskNotFound) && status.Code(err) != codes.NotFound {
		return fmt.Errorf("expected a task that is not found, got %v", err)
	}
	return nil
}

func over(transport string) a2aclient.FactoryOption {
	switch transport {
	case "GRPC":
		return a2aclient.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials()))
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
