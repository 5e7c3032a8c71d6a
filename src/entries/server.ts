/** Writes agents, and serves them wherever `fetch` is spoken. Needs no Node. */

export type { Agent, AgentProfile, RecoveryPolicy } from '../core/agent/agent.ts'
export type { AgentFunction } from '../core/agent/agent-function.ts'
export type { Answer, Question } from '../core/agent/ask.ts'
export type { CallAnswer, CallTarget, ResolveAgent } from '../core/agent/call-agent.ts'
export { CallFailed } from '../core/agent/call-agent.ts'
export type { Content, ContentItem, File, MessageContent } from '../core/agent/content.ts'
export { type Skill, type SkillOptions, type SkillTypes, skill } from '../core/agent/skill.ts'
export { skillTypesOf } from '../core/agent/skill-types.ts'
export { typeBoxSchema } from '../core/agent/standard-schema.ts'
export type { AnswerWriter, ArtifactWriter, Turn } from '../core/agent/turn.ts'
export type { Json, JsonObject } from '../core/base/json.ts'
export type { Logger, LogLevel } from '../core/base/logger.ts'
export type { Trace } from '../core/base/trace-context.ts'
export type { Exchange } from '../core/http/exchange.ts'
export type { LimitStore } from '../core/limits/limit-store.ts'
export { createMemoryLimits } from '../core/limits/limit-store.ts'
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
export type { CredentialProvider, Credentials, TokenExchange } from '../core/protocol/credentials.ts'
export { A2AError, type ErrorCode, type FieldViolation, StoreUnavailable } from '../core/protocol/errors.ts'
export type {
  ArtifactEvent,
  MessageEvent,
  StatusEvent,
  StoredEvent,
  StreamEvent,
  TaskEvent,
  TaskRef,
} from '../core/protocol/events.ts'
export { inputRequestIn } from '../core/protocol/extensions/client-tools.ts'
export { lineageExtension } from '../core/protocol/extensions/lineage.ts'
export type { SkillMap, SkillType } from '../core/protocol/extensions/typed-skills.ts'
export { type Usage, usageExtension } from '../core/protocol/extensions/usage.ts'
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
export { anonymous } from '../core/protocol/model.ts'
export type { Call, Operation, PushConfig, SendRequest, Service, TaskPage } from '../core/protocol/service.ts'
export type { Activity, ActivityDetails, Span, Telemetry, TelemetryIncident } from '../core/protocol/telemetry.ts'
export type { PushAdmin } from '../core/push/admin.ts'
export type { PushFetch } from '../core/push/options.ts'
export type { PushRequest, SignPush } from '../core/push/request.ts'
export type { PushStore } from '../core/push/store.ts'
export type { Policy } from '../core/runtime/options.ts'
export { StepFailed } from '../core/runtime/turns/durable-steps.ts'
export { createHandler, type Handler } from '../core/server/handler.ts'
export { createHost, type Host } from '../core/server/host.ts'
export type { HostedAgent } from '../core/server/hosted-agent.ts'
export { agent, type LocalAgent, reachAgents } from '../core/server/local-agent.ts'
export type { HandlerOptions } from '../core/server/options.ts'
export type { TaskLog } from '../core/tasks/log.ts'
export { createMemoryLog, type MemoryLog } from '../core/tasks/memory-log.ts'
