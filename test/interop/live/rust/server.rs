//! The server of a2a-server-lf, over the transport that its argument names. Prints its address.

use std::{env, sync::Arc};

use a2a::{
    A2AError, AgentCard, Artifact, Message, Part, PartContent, Role, StreamResponse, Task,
    TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent,
};
use a2a_grpc::GrpcHandler;
use a2a_pb::proto::a2a_service_server::A2aServiceServer;
use a2a_server::{
    AgentExecutor, DefaultRequestHandler, ExecutorContext, InMemoryTaskStore, StaticAgentCard,
    agent_card::agent_card_router, jsonrpc::jsonrpc_router, rest::rest_router,
};
use futures::{StreamExt, stream, stream::BoxStream};
use serde_json::json;
use tokio_stream::wrappers::TcpListenerStream;

type Events = BoxStream<'static, Result<StreamResponse, A2AError>>;

struct Executor;

impl AgentExecutor for Executor {
    fn execute(&self, call: ExecutorContext) -> Events {
        let message = call.message.clone().expect("a message");
        let said = message.parts[0].as_text().unwrap_or("").to_string();
        if let Some(text) = said.strip_prefix("echo ") {
            return all(vec![StreamResponse::Message(Message::new(Role::Agent, vec![Part::text(text)]))]);
        }
        if call.stored_task.as_ref().is_some_and(|task| task.status.state == TaskState::InputRequired) {
            return all(vec![status(&call, TaskState::Completed, Some(&format!("You chose {said}.")))]);
        }
        let task = StreamResponse::Task(Task {
            id: call.task_id.clone(),
            context_id: call.context_id.clone(),
            status: TaskStatus { state: TaskState::Submitted, message: None, timestamp: None },
            artifacts: None,
            history: Some(vec![message.clone()]),
            metadata: None,
        });
        let mut events = vec![task, status(&call, TaskState::Working, None)];
        match said.as_str() {
            "file" => {
                let is_file = |part: &Part| matches!(part.content, PartContent::Raw(_));
                events.push(chunk(&call, message.parts.into_iter().filter(is_file).collect(), false, true));
            }
            "stream" => {
                for (number, text) in ["one", "two", "three"].into_iter().enumerate() {
                    events.push(chunk(&call, vec![Part::text(text)], number > 0, number == 2));
                }
            }
            "ask" => {
                events.push(status(&call, TaskState::InputRequired, Some("Which colour?")));
                return all(events);
            }
            "wait" => return all(events).chain(stream::pending()).boxed(),
            _ => {}
        }
        events.push(status(&call, TaskState::Completed, None));
        all(events)
    }

    fn cancel(&self, call: ExecutorContext) -> Events {
        all(vec![status(&call, TaskState::Canceled, None)])
    }
}

fn all(events: Vec<StreamResponse>) -> Events {
    stream::iter(events.into_iter().map(Ok)).boxed()
}

fn status(call: &ExecutorContext, state: TaskState, text: Option<&str>) -> StreamResponse {
    let (task_id, context_id) = call.task_info();
    let message = text.map(|text| Message::new(Role::Agent, vec![Part::text(text)]));
    let status = TaskStatus { state, message, timestamp: None };
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent { task_id, context_id, status, metadata: None })
}

fn chunk(call: &ExecutorContext, parts: Vec<Part>, append: bool, last: bool) -> StreamResponse {
    let (task_id, context_id) = call.task_info();
    let (name, description, extensions) = (None, None, None);
    let artifact = Artifact { artifact_id: "a".into(), name, description, parts, metadata: None, extensions };
    let (append, last_chunk) = (Some(append), Some(last));
    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id,
        context_id,
        artifact,
        append,
        last_chunk,
        metadata: None,
    })
}

#[tokio::main]
async fn main() {
    let transport = env::args().nth(1).expect("the transport");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let grpc_listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let grpc_address = grpc_listener.local_addr().expect("an address").to_string();
    let address = if transport == "GRPC" { &grpc_address } else { &url };
    let card: AgentCard = serde_json::from_value(json!({
        "name": "Interop", "description": "Answers the checks of Parley.", "version": "1.0.0",
        "supportedInterfaces": [{ "url": address, "protocolBinding": transport, "protocolVersion": "1.0" }],
        "capabilities": { "streaming": true },
        "defaultInputModes": ["text/plain", "application/octet-stream"], "defaultOutputModes": ["text/plain"],
        "skills": [],
    }))
    .expect("a card");
    let handler = DefaultRequestHandler::new(Executor, InMemoryTaskStore::new()).with_capabilities(card.capabilities.clone());
    let handler = Arc::new(handler);
    let calls = match transport.as_str() {
        "JSONRPC" => jsonrpc_router(handler),
        "HTTP+JSON" => rest_router(handler),
        _ => {
            let service = A2aServiceServer::new(GrpcHandler::new(handler));
            let server = tonic::transport::Server::builder().add_service(service);
            tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(grpc_listener)));
            axum::Router::new()
        }
    };
    let app = calls.merge(agent_card_router(Arc::new(StaticAgentCard::new(card))));
    println!("{url}");
    axum::serve(listener, app).await.expect("a server");
}
