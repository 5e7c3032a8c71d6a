/** Calls any A2A agent: `connect`, and the objects of the protocol. Runs in browsers and every JavaScript runtime. */

export type { Json, JsonObject } from '../core/base/json.ts'
export type { Client } from '../core/client/client.ts'
export { connect } from '../core/client/connect.ts'
export type { Conversation } from '../core/client/conversation.ts'
export type { Authorize } from '../core/client/credentials/authorize.ts'
export type { Explanation } from '../core/client/diagnostics/connection-trace.ts'
export type { ClientEvent } from '../core/client/events.ts'
export type { InputFile } from '../core/client/files.ts'
export { createCardCache } from '../core/client/find-card.ts'
export type { CardCache, ConnectOptions, Notice, Target, Transport } from '../core/client/options.ts'
export type { SendOptions } from '../core/client/send-request.ts'
export { data, type Input } from '../core/client/send-request.ts'
export type { PushHandle, TaskHandle } from '../core/client/task-handle.ts'
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
} from '../core/protocol/card.ts'
export type { CredentialProvider, Credentials } from '../core/protocol/credentials.ts'
export { A2AError, type ErrorCode, type FieldViolation, GenerationMismatch } from '../core/protocol/errors.ts'
export type {
  ArtifactEvent,
  MessageEvent,
  StatusEvent,
  StoredEvent,
  StreamEvent,
  TaskEvent,
  TaskRef,
} from '../core/protocol/events.ts'
export { credentialsExtension, credentialsPart } from '../core/protocol/extensions/in-task-credentials.ts'
export type { SkillMap, SkillType } from '../core/protocol/extensions/typed-skills.ts'
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
} from '../core/protocol/model.ts'
export type { Output, Reply } from '../core/protocol/reply.ts'
export type { Call, Operation, PushConfig, SendRequest, Service, TaskPage } from '../core/protocol/service.ts'
