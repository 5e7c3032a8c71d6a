export type { Agent, AgentProfile, Recovery, RecoveryPolicy, SkillProfile } from './agent/agent.ts'
export type { ArtifactWriter, Chunk } from './agent/artifact-writer.ts'
export type { Answer, Ask, AskOptions } from './agent/ask.ts'
export { CallFailed, type CallFailure } from './agent/call-failed.ts'
export type {
  AgentCall,
  CallAgent,
  CallAnswer,
  Callee,
  CallOptions,
  Calls,
  CallTarget,
  FanOutOptions,
  LocalTarget,
  PlannedCall,
  Reach,
  ReachOptions,
  Settled,
} from './agent/calling.ts'
export type { Content } from './agent/content.ts'
export type { AuthNeed, GivenAuth, RequireAuth, RequireAuthOptions } from './agent/require-auth.ts'
export { type Skill, type SkillOptions, skill } from './agent/skill.ts'
export { skillTypesOf } from './agent/skill-types.ts'
export type { ArtifactOptions, File, Speech } from './agent/speech.ts'
export type { Subscribable } from './agent/subscribable.ts'
export type { Turn } from './agent/turn.ts'
export { type TypeBoxValidator, typeBoxSchema } from './agent/type-box.ts'
export type { Invocable, Invocation, Result, Run, Said, Work } from './agent/work.ts'
export type { MeshDeskOptions, MeshRegistryPlace } from './bridge/desk.ts'
export { agent, type LocalAgent } from './local-agent.ts'
export { toListener } from './node/listener.ts'
export type { SocketServer } from './node/upgrade.ts'
export type * from './protocol/card.ts'
export { clientTools, inputRequestIn, toolResult, toolUse } from './protocol/client-tools.ts'
export type { CredentialProvider, Credentials, TokenExchange } from './protocol/credentials.ts'
export { A2AError, type ErrorCode, type FieldViolation } from './protocol/errors.ts'
export type * from './protocol/events.ts'
export { type Ancestor, type Lineage, lineageExtension } from './protocol/lineage.ts'
export type { Logger } from './protocol/logger.ts'
export type * from './protocol/model.ts'
export type * from './protocol/service.ts'
export type { Activity, Fact, Learned, Span, Telemetry } from './protocol/telemetry.ts'
export type { Trace } from './protocol/trace.ts'
export type { DeliveryState, PushControl, WebhookState } from './push/control.ts'
export type { ConcurrencyOptions, PushFetch, PushOptions, RetryOptions } from './push/options.ts'
export type { PushRequest, SignPush } from './push/request.ts'
export type { PushStore } from './push/store.ts'
export type { CallsOptions, OutgoingCall } from './runtime/calls/settings.ts'
export { StepFailed } from './runtime/durable-stage.ts'
export type { Erased, EraseRequest } from './runtime/erase.ts'
export type { Policy } from './runtime/options.ts'
export type { Retention } from './runtime/retention.ts'
export { serve } from './serve.ts'
export type { Agents, ServeMeshOptions, ServeOptions, ServePushOptions, Server } from './serve-options.ts'
export type { AuthChoice, AuthSettings } from './server/admission.ts'
export { createHandler, type Handler, type HandlerOptions } from './server/handler.ts'
export type { Place } from './server/host.ts'
export type { MetricsOptions } from './server/metrics-page.ts'
export type { Resident } from './server/resident.ts'
export { createSqliteLog } from './stores/sqlite/index.ts'
export type { TaskLog } from './tasks/log.ts'
export { createMemoryLog, type MemoryLogOptions } from './tasks/memory-log.ts'
