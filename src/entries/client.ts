/** Calls any A2A agent: `connect`, and the objects of the protocol. Runs in browsers and every JavaScript runtime. */

export type { Json, JsonObject } from '../base/json.ts'
export type { Client } from '../client/client.ts'
export { connect } from '../client/connect.ts'
export type { Conversation } from '../client/conversation.ts'
export type { Authorize } from '../client/credentials/authorize.ts'
export type { Explanation } from '../client/diagnostics/connection-trace.ts'
export type { InputFile } from '../client/files.ts'
export { createCardCache } from '../client/find-card.ts'
export type { CardCache, ConnectOptions, Notice, Target, Transport } from '../client/options.ts'
export type { ClientEvent, Output, Reply } from '../client/reply.ts'
export type { SendOptions } from '../client/send-request.ts'
export { data, type Input } from '../client/send-request.ts'
export type { PushHandle, TaskHandle } from '../client/task-handle.ts'
export type {
  AgentCapabilities,
  AgentCard,
  AgentExtension,
  AgentInterface,
  AgentProvider,
  AgentSkill,
  CardSignature,
  OAuthFlow,
  SecurityRequirement,
  SecurityScheme,
} from '../protocol/card.ts'
export type { CredentialProvider, Credentials } from '../protocol/credentials.ts'
export { A2AError, type ErrorCode, type FieldViolation } from '../protocol/errors.ts'
export type {
  ArtifactEvent,
  MessageEvent,
  StatusEvent,
  StoredEvent,
  StreamEvent,
  TaskEvent,
  TaskRef,
} from '../protocol/events.ts'
export { credentialsExtension, credentialsPart } from '../protocol/extensions/in-task-credentials.ts'
export type { SkillMap, SkillType } from '../protocol/extensions/typed-skills.ts'
export type {
  Artifact,
  DataPart,
  Message,
  Part,
  Principal,
  RawPart,
  Role,
  Task,
  TaskState,
  TaskStatus,
  TextPart,
  UrlPart,
} from '../protocol/model.ts'
export type { Call, Operation, PushConfig, SendRequest, Service, TaskPage } from '../protocol/service.ts'
