export type { Agent, AgentProfile, Recovery, RecoveryPolicy, SkillProfile } from '../agent/agent.ts'
export type {
  AgentFunction,
  AgentImplementation,
  AgentResult,
  AgentYield,
  Invocable,
  Invocation,
} from '../agent/agent-function.ts'
export type { Answer, Ask, AskOptions } from '../agent/ask.ts'
export type {
  AgentCall,
  AgentCalls,
  CallAgent,
  CallAnswer,
  CalledAgent,
  CallOptions,
  CallOutcome,
  CallSpec,
  CallTarget,
  FanOutOptions,
  LocalTarget,
  ReachOptions,
  ResolveAgent,
} from '../agent/call-agent.ts'
export { CallFailed, type CallFailure } from '../agent/call-agent.ts'
export type { Subscribable } from '../agent/observable.ts'
export type { AuthNeed, GivenAuth, RequireAuth, RequireAuthOptions } from '../agent/require-auth.ts'
export { type Skill, type SkillOptions, skill } from '../agent/skill.ts'
export { skillTypesOf } from '../agent/skill-types.ts'
export { type TypeBoxValidator, typeBoxSchema } from '../agent/standard-schema.ts'
export type { Turn } from '../agent/turn.ts'
export type { ArtifactOptions, ArtifactWriter, Chunk, Content, File, TurnOutput } from '../agent/turn-output.ts'
export type { Logger } from '../base/logger.ts'
export type { Trace } from '../base/trace-context.ts'
export { agent, type LocalAgent } from '../local-agent.ts'
export type { MeshEndpointOptions, MeshRegistryPlace } from '../mesh-bridge/endpoint.ts'
export { toListener } from '../node/listener.ts'
export type { SocketServer } from '../node/websocket-upgrade.ts'
export type * from '../protocol/card.ts'
export { A2AError, type ErrorCode, type FieldViolation } from '../protocol/errors.ts'
export type * from '../protocol/events.ts'
export { clientTools, inputRequestIn, toolResult, toolUse } from '../protocol/extensions/client-tools.ts'
export { type Ancestor, type Lineage, lineageExtension } from '../protocol/extensions/lineage.ts'
export type * from '../protocol/model.ts'
export type { CredentialProvider, Credentials, TokenExchange } from '../protocol/principal.ts'
export type * from '../protocol/service.ts'
export type { Activity, Fact, Learned, Span, Telemetry } from '../protocol/telemetry.ts'
export type { DeliveryState, PushAdmin, WebhookState } from '../push/admin.ts'
export type { ConcurrencyOptions, PushFetch, PushOptions, RetryOptions } from '../push/options.ts'
export type { PushRequest, SignPush } from '../push/request.ts'
export type { PushStore } from '../push/store.ts'
export type { CallsOptions, OutgoingCall } from '../runtime/calls/options.ts'
export type { Erased, EraseRequest } from '../runtime/operations/erase.ts'
export type { Policy, Retention } from '../runtime/options.ts'
export { StepFailed } from '../runtime/turns/durable-steps.ts'
export { serve } from '../serve.ts'
export type { Agents, ServeMeshOptions, ServeOptions, ServePushOptions, Server } from '../serve-options.ts'
export type { AuthChoice, AuthSettings } from '../server/authentication.ts'
export { createHandler, type Handler, type HandlerOptions } from '../server/handler.ts'
export type { MountOptions } from '../server/host.ts'
export type { HostedAgent } from '../server/hosted-agent.ts'
export type { MetricsOptions } from '../server/metrics-page.ts'
export type { TaskLog } from '../tasks/log.ts'
export { createMemoryLog, type MemoryLogOptions } from '../tasks/memory-log.ts'
export { createSqliteLog } from './sqlite.ts'
