//! The client of a2a-client-lf: runs checks and prints each result as a line of JSON.

use std::{env, future::Future, sync::Arc, time::Duration};

use a2a::{
    CancelTaskRequest, GetTaskRequest, Message, Part, PartContent, Role, SendMessageConfiguration,
    SendMessageRequest, SendMessageResponse, StreamResponse, Task, TaskState,
};
use a2a_client::{A2AClient, A2AClientFactory, Transport, agent_card::AgentCardResolver};
use a2a_grpc::GrpcTransportFactory;
use futures::StreamExt;
use serde_json::json;

type Client = A2AClient<Box<dyn Transport>>;
type Outcome = Result<(), String>;

fn request(parts: Vec<Part>) -> SendMessageRequest {
    let message = Message::new(Role::User, parts);
    SendMessageRequest { message, configuration: None, metadata: None, tenant: None }
}

fn says(text: &str) -> SendMessageRequest {
    request(vec![Part::text(text)])
}

fn expect<T: PartialEq + std::fmt::Debug>(actual: T, expected: T) -> Outcome {
    if actual == expected { Ok(()) } else { Err(format!("expected {expected:?}, got {actual:?}")) }
}

fn text_of(message: &Option<Message>) -> String {
    let parts = message.iter().flat_map(|message| &message.parts);
    parts.map(|part| part.as_text().unwrap_or("?").to_string()).collect::<Vec<_>>().join("|")
}

async fn task_of(client: &Client, request: SendMessageRequest) -> Result<Task, String> {
    match client.send_message(&request).await.map_err(|error| format!("{error:?}"))? {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(_) => Err("expected a task, got a message".into()),
    }
}

async fn send_text(client: &Client) -> Outcome {
    match client.send_message(&says("echo grüße")).await.map_err(|error| format!("{error:?}"))? {
        SendMessageResponse::Message(message) => expect(text_of(&Some(message)), "grüße".into()),
        SendMessageResponse::Task(_) => Err("expected a message, got a task".into()),
    }
}

async fn exchange_files(client: &Client) -> Outcome {
    // The second file is a base64 text itself.
    for content in [(0..=255).collect::<Vec<u8>>(), b"aGVsbG8gd29ybGQh".to_vec()] {
        let file = Part::raw(content.clone()).with_filename("a.bin").with_media_type("application/octet-stream");
        let task = task_of(client, request(vec![Part::text("file"), file])).await?;
        let artifacts = task.artifacts.unwrap_or_default();
        let part = artifacts.first().and_then(|artifact| artifact.parts.first()).ok_or("no artifact")?;
        expect(part.filename.as_deref(), Some("a.bin"))?;
        expect(&part.content, &PartContent::Raw(content))?;
    }
    Ok(())
}

async fn stream(client: &Client) -> Outcome {
    let mut events = client.send_streaming_message(&says("stream")).await.map_err(|error| format!("{error:?}"))?;
    let (mut text, mut state) = (String::new(), TaskState::Unspecified);
    while let Some(event) = events.next().await {
        match event.map_err(|error| format!("{error:?}"))? {
            StreamResponse::ArtifactUpdate(update) => text += update.artifact.parts[0].as_text().unwrap_or(""),
            StreamResponse::StatusUpdate(update) => state = update.status.state,
            _ => {}
        }
    }
    expect(text, "onetwothree".into())?;
    expect(state, TaskState::Completed)
}

async fn question(client: &Client) -> Outcome {
    let task = task_of(client, says("ask")).await?;
    expect(text_of(&task.status.message), "Which colour?".into())?;
    let mut answer = says("green");
    answer.message.task_id = Some(task.id);
    let done = task_of(client, answer).await?;
    expect(text_of(&done.status.message), "You chose green.".into())
}

async fn cancel(client: &Client) -> Outcome {
    let mut waiting = says("wait");
    waiting.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: None,
        task_push_notification_config: None,
        history_length: None,
        return_immediately: Some(true),
    });
    let task = task_of(client, waiting).await?;
    let request = CancelTaskRequest { id: task.id, metadata: None, tenant: None };
    let canceled = client.cancel_task(&request).await.map_err(|error| format!("{error:?}"))?;
    expect(canceled.status.state, TaskState::Canceled)
}

async fn errors(client: &Client) -> Outcome {
    let request = GetTaskRequest { id: "no-such-task".into(), history_length: None, tenant: None };
    match client.get_task(&request).await {
        Ok(_) => Err("expected an error".into()),
        Err(error) => expect(error.code, -32001),
    }
}

async fn report(name: &str, check: impl Future<Output = Outcome>) {
    let outcome = tokio::time::timeout(Duration::from_secs(20), check).await;
    let line = match outcome.unwrap_or_else(|_| Err("no answer".into())) {
        Ok(()) => json!({ "ok": true }),
        Err(detail) => json!({ "ok": false, "detail": detail }),
    };
    // The reader recognises the line by its first member.
    println!("{{\"check\":\"{name}\",{}", &line.to_string()[1..]);
}

#[tokio::main]
async fn main() {
    let url = env::args().nth(1).expect("the address of the agent");
    let transport = env::args().nth(2).expect("the transport");
    let card = AgentCardResolver::new(None).resolve(&url).await.expect("a card");
    let builder = match transport.as_str() {
        // Without the other transports, which it would use if gRPC failed.
        "GRPC" => A2AClientFactory::builder().no_defaults().register(Arc::new(GrpcTransportFactory::new())),
        _ => A2AClientFactory::builder().preferred_bindings(vec![transport]),
    };
    let factory = builder.build();
    let client = factory.create_from_card(&card).await.expect("a client");
    report("card", async { expect(card.name.as_str(), "Interop") }).await;
    report("text", send_text(&client)).await;
    report("files", exchange_files(&client)).await;
    report("streaming", stream(&client)).await;
    report("question", question(&client)).await;
    report("cancel", cancel(&client)).await;
    report("errors", errors(&client)).await;
}
