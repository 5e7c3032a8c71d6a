/** Writes agents, and serves them wherever `fetch` is spoken. Needs no Node. */

export type { Agent, AgentProfile, RecoveryPolicy } from '../agent/agent.ts'
export type { AgentFunction } from '../agent/agent-function.ts'
export type { Answer } from '../agent/ask.ts'
export type { CallAnswer, CallTarget, ResolveAgent } from '../agent/call-agent.ts'
export { CallFailed } from '../agent/call-agent.ts'
export type { Content, ContentItem, File, MessageContent } from '../agent/content.ts'
export { type Skill, type SkillOptions, type SkillTypes, skill } from '../agent/skill.ts'
export { skillTypesOf } from '../agent/skill-types.ts'
export { typeBoxSchema } from '../agent/standard-schema.ts'
export type { ArtifactWriter, Turn } from '../agent/turn.ts'
export type { Json, JsonObject } from '../base/json.ts'
export type { Logger, LogLevel } from '../base/logger.ts'
export type { Trace } from '../base/trace-context.ts'
export type { Exchange } from '../http/exchange.ts'
export type { LimitStore } from '../limits/limit-store.ts'
export { createMemoryLimits } from '../limits/limit-store.ts'
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
export { inputRequestIn } from '../protocol/extensions/client-tools.ts'
export { lineageExtension } from '../protocol/extensions/lineage.ts'
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
export { anonymous } from '../protocol/model.ts'
export type { Call, Operation, PushConfig, SendRequest, Service, TaskPage } from '../protocol/service.ts'
export type { Activity, ActivityDetails, Span, Telemetry, TelemetryIncident } from '../protocol/telemetry.ts'
export type { PushAdmin } from '../push/admin.ts'
export type { PushFetch } from '../push/options.ts'
export type { PushRequest, SignPush } from '../push/request.ts'
export type { PushStore } from '../push/store.ts'
export type { Policy } from '../runtime/options.ts'
export { StepFailed } from '../runtime/turns/durable-steps.ts'
export { createHandler, type Handler } from '../server/handler.ts'
export { createHost, type Host } from '../server/host.ts'
export type { HostedAgent } from '../server/hosted-agent.ts'
export type { HandlerOptions } from '../server/options.ts'
export type { TaskLog } from '../tasks/log.ts'
export { createMemoryLog, type MemoryLog } from '../tasks/memory-log.ts'
