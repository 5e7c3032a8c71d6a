/** Writes agents, and serves them wherever `fetch` is spoken. Needs no Node. */

export type { Agent, AgentProfile, Recovery, RecoveryPolicy } from '../agent/agent.ts'
export type { AgentFunction } from '../agent/agent-function.ts'
export type { Answer, AskOptions } from '../agent/ask.ts'
export type { AgentCallOptions, CallAnswer, CallTarget, ResolveAgent } from '../agent/call-agent.ts'
export { CallFailed, type CallFailure } from '../agent/call-agent.ts'
export type { Content, ContentItem, File, MessageContent } from '../agent/content.ts'
export type { Subscribable } from '../agent/observable.ts'
export type { RequireAuthOptions } from '../agent/require-auth.ts'
export type { SkillProfile } from '../agent/skill.ts'
export { type Skill, type SkillOptions, skill } from '../agent/skill.ts'
export { skillTypesOf } from '../agent/skill-types.ts'
export { typeBoxSchema } from '../agent/standard-schema.ts'
export type { ArtifactOptions, ArtifactWriter, EventOptions, Turn } from '../agent/turn.ts'
export type { Json, JsonObject } from '../base/json.ts'
export type { Logger, LogLevel } from '../base/logger.ts'
export type { Trace } from '../base/trace-context.ts'
export type { LimitStore } from '../limits/limit-store.ts'
export { createMemoryLimits } from '../limits/limit-store.ts'
export type { LimitOptions } from '../limits/limits.ts'
export { agent, type LocalAgent } from '../local-agent.ts'
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
export type { CredentialProvider, Credentials, TokenExchange } from '../protocol/credentials.ts'
export { A2AError, type ErrorCode, type FieldViolation, StoreUnavailable } from '../protocol/errors.ts'
export type {
  ArtifactEvent,
  MessageEvent,
  StatusEvent,
  StoredEvent,
  StreamEvent,
  TaskEvent,
  TaskRef,
} from '../protocol/events.ts'
export { clientTools, inputRequestIn, toolResult, toolUse } from '../protocol/extensions/client-tools.ts'
export { lineageExtension } from '../protocol/extensions/lineage.ts'
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
export { anonymous } from '../protocol/model.ts'
export type {
  Call,
  CancelTaskRequest,
  ExtendedCardRequest,
  GetTaskRequest,
  ListPushConfigsRequest,
  ListTasksRequest,
  Operation,
  PushConfig,
  PushConfigPage,
  PushConfigRef,
  SendConfiguration,
  SendRequest,
  Service,
  SubscribeRequest,
  TaskPage,
} from '../protocol/service.ts'
export type { Activity, ActivityDetails, Span, Telemetry, TelemetryIncident } from '../protocol/telemetry.ts'
export type { PushAdmin } from '../push/admin.ts'
export type { PushFetch, PushOptions, RetryOptions } from '../push/options.ts'
export type { PushRequest, SignPush } from '../push/request.ts'
export type { PushStore } from '../push/store.ts'
export type { CallsOptions } from '../runtime/calls/options.ts'
export type { EraseRequest } from '../runtime/operations/erase.ts'
export type { Policy, Retention } from '../runtime/options.ts'
export { StepFailed } from '../runtime/turns/durable-steps.ts'
export type { AuthChoice, AuthSettings } from '../server/authentication.ts'
export { createHandler, type Handler } from '../server/handler.ts'
export { createHost, type Host } from '../server/host.ts'
export type { HostedAgent } from '../server/hosted-agent.ts'
export type { MetricsOptions } from '../server/metrics-page.ts'
export type { MountOptions } from '../server/mount.ts'
export type {
  CapabilityOptions,
  CardOptions,
  CompatibilityOptions,
  DialectOptions,
  GrpcServerOptions,
  HandlerOptions,
  HouseOptions,
  HttpOptions,
  TurnOptions,
} from '../server/options.ts'
export type { TaskLog } from '../tasks/log.ts'
export { createMemoryLog, type MemoryLogOptions } from '../tasks/memory-log.ts'
