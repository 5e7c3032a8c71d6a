import type { Agent, Recovery, RecoveryPolicy } from '../agent/agent.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { consoleLogger, type Logger } from '../base/logger.ts'
import { anyOf, flag, group, integer, milliseconds, type OptionCheck, oneOf, text } from '../base/options.ts'
import type { TokenExchange } from '../protocol/credentials.ts'
import { loggedError } from '../protocol/errors.ts'
import type { Usage } from '../protocol/extensions/usage.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call, Operation, SendRequest } from '../protocol/service.ts'
import { type EndedPhase, endedPhases } from '../protocol/states.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import type { PushOptions } from '../push/options.ts'
import type { LogWithWebhooks } from '../push/push.ts'
import type { VisibleOwners } from '../tasks/log.ts'
import type { LogWithOperator } from '../tasks/operator-log.ts'
import { withRevisions } from '../tasks/revisions.ts'
import { createUsageLog, type UsageLog } from '../tasks/usage-log.ts'
import { type CallSettings, type CallsOptions, readCallSettings } from './calls/options.ts'
import { createMediaTypeCheck, type MediaTypeCheck, type MediaTypeOptions } from './operations/media-types.ts'
import { createSecretStore, type SecretStore } from './secrets.ts'
import { createSnapshotQueue, type SnapshotQueue } from './turns/snapshot-queue.ts'

const day = 24 * 60 * 60 * 1000

/** Milliseconds after which a silent turn of a task counts as working. Agents that need longer are thinking. */
export const workingAfter = 50

const policies: readonly string[] = ['fail', 'retry', 'resume'] satisfies RecoveryPolicy[]

const retentionNames: readonly string[] = [...endedPhases, 'ended', 'tombstones']

/**
 * When the promises of a turn's output resolve. `window`: when the event is in a bounded window of events that are being
 * stored. `each`: when the event is stored.
 */
export type Durability = 'window' | 'each'

/** Lets a caller see more than its own tasks. */
export type Policy = (principal: Principal, operation: Operation) => VisibleOwners | undefined

/** How long ended tasks are kept, in milliseconds; `Infinity` keeps them. A state may have a time of its own. */
export interface Retention extends Readonly<Partial<Record<EndedPhase, number>>> {
  /** For all states without a time of their own. Defaults to 30 days. */
  readonly ended?: number
  /** How long the server remembers, at least, that a removed task existed. Defaults to 30 days. */
  readonly tombstones?: number
}

/** Checks the option at start: a wrong member would keep tasks for another time than intended. */
export const retentionCheck: OptionCheck = group<Retention>({
  answered: milliseconds(),
  completed: milliseconds(),
  failed: milliseconds(),
  canceled: milliseconds(),
  rejected: milliseconds(),
  unknown: milliseconds(),
  ended: milliseconds(),
  tombstones: milliseconds(),
})

/** What the trace of a task records: its steps, model requests, tool calls and calls of other agents. */
export interface TraceOptions {
  /** Maximum number of entries per task. Defaults to 256. */
  readonly entries?: number
  /** Maximum number of characters of all entries of a task. Defaults to 65,536. */
  readonly bytes?: number
  /**
   * Whether entries have arguments, results and messages of errors, without the secrets that Parley recognises. Defaults
   * to true on servers without `auth`, and to false on others.
   */
  readonly content?: boolean
  /**
   * Where the tracing system shows a trace, for links of the console. `{traceId}` and `{spanId}` are replaced, as in
   * `https://jaeger.example.com/trace/{traceId}`.
   */
  readonly url?: string
}

/** Checks the option at start. */
export const traceCheck: OptionCheck = anyOf(
  'false, or an object with entries, bytes, content, url',
  oneOf(false),
  group<TraceOptions>({ entries: integer({ min: 1 }), bytes: integer({ min: 1_024 }), content: flag, url: text }),
)

export type TraceSettings = Required<Omit<TraceOptions, 'url'>>

/** Acquires a slot for a turn, or for a message in the queue. Throws if there is none. Returns how to release it. */
export type AcquireSlot = (
  kind: 'turns' | 'queued',
  request: SendRequest,
  call: Call,
  /** The first message of the task that the request continues. */
  opening?: SendRequest,
) => Promise<(() => void | Promise<void>) | undefined>

/** How an agent gets tokens on behalf of its callers. */
export interface DelegationOptions {
  readonly exchange: TokenExchange
  /** The token that authenticated a caller, if there is one. */
  readonly tokenOf: (principal: Principal) => string | undefined
}

export interface RuntimeOptions extends MediaTypeOptions {
  readonly agent: Agent
  readonly log: LogWithWebhooks
  readonly logger?: Logger
  /** A message for a task that is working: run it next, reject it, or stop the turn and run it now. Defaults to `queue`. */
  readonly whileBusy?: 'queue' | 'reject' | 'interrupt'
  /** How many messages may wait for one task. Defaults to 100. */
  readonly queueLimit?: number
  /** What happens to a message beyond `queueLimit`: it is rejected, or it fails the task. Defaults to `refuse`. */
  readonly whenFull?: 'refuse' | 'fail'
  /** Milliseconds that an agent has to stop after its signal aborted. After that, it is abandoned. Defaults to 5,000. */
  readonly cancelGrace?: number
  /** How long a turn may take, in milliseconds. Unlimited by default. */
  readonly turnDeadline?: number
  /** How long a turn may go without an event or a step, in milliseconds. Waiting for the caller does not count. */
  readonly inactivityTimeout?: number
  /**
   * How long a blocking send waits, in milliseconds; then it returns the task as it is. Set it below the limit of a proxy
   * that cuts long requests, such as 55,000. By default, it waits until the task ends or needs its caller.
   */
  readonly blockFor?: number
  /**
   * Milliseconds after which a turn without answer or event becomes a task. Defaults to 10,000, and to 50 if the caller
   * reads a stream, because it sees nothing before the task. `Infinity` suits agents that answer with plain messages.
   */
  readonly taskAfter?: number
  /**
   * When the promises of `turn.status`, `artifact.write`, `turn.data` and `turn.file` resolve. `window`: when the event is
   * in a window of at most 256 events or 1 Mi characters that are being stored. `each`: when the event is stored. The
   * message that starts a turn is stored with its first events, and with `each` before the agent starts. Callers see an event only after it is stored, in both cases. Defaults to `window`.
   */
  readonly durability?: Durability
  /** Lifetime of a lease in milliseconds. Tasks of a dead process are found after that time. Defaults to 15,000. */
  readonly leaseTtl?: number
  /** What happens to turns whose process is gone. Defaults to the policy of the agent. */
  readonly recovery?: Recovery
  /** Keeps the metadata of requests as the metadata of their task. Defaults to false. */
  readonly keepMetadata?: boolean
  /** Where callers find what the agent returns for a task: see `turns.answers` of the server. Defaults to `auto`. */
  readonly answers?: 'auto' | 'artifact' | 'status'
  /** Also treats two *new* messages with the same `messageId` as one. Off by default, because real clients reuse ids. */
  readonly dedupeNewTasks?: boolean
  /**
   * A message with a `contextId` and without a `taskId` answers the open question of that context, if there is one. Two
   * open questions are an error. Defaults to false: such a message starts a task.
   */
  readonly answersByContext?: boolean
  /** Whether a message with the id of another message of its task, and other content, is accepted. Defaults to `accept`. */
  readonly reusedMessageId?: 'accept' | 'reject'
  /** The schemes of URLs that callers may send in parts. Defaults to all except those of files and scripts. */
  readonly urlSchemes?: readonly string[]
  /**
   * Logs the messages of errors that the agent throws. They may contain what callers sent. Defaults to false: the log has
   * their type, their code and where they were thrown.
   */
  readonly errorMessages?: boolean
  /** Names this process in its leases, for operators who look into the store. Defaults to a random id. */
  readonly holder?: string
  /** Lets a caller see more than its own tasks: those of a team, of a tenant, or all. Called for every request. */
  readonly policy?: Policy
  /** Sends push notifications to webhooks. Off by default. */
  readonly push?: PushOptions
  /** How long ended tasks are kept, by their states. */
  readonly retention?: Retention
  /** Called before a message starts a turn, or waits for one. */
  readonly acquireSlot?: AcquireSlot
  /**
   * Counts what a turn used against the limits of its caller. Resolves with the reason to stop the turn if it has
   * exceeded one.
   */
  readonly chargeUsage?: (usage: Usage, principal: Principal) => Promise<string | undefined>
  /** Called before a message continues a task. Throws if the caller may not use the skill that the task was created for. */
  readonly checkContinuation?: (opening: SendRequest, request: SendRequest, call: Call) => Promise<void>
  /** How the agent calls other agents. */
  readonly calls?: CallsOptions
  /** How the agent gets tokens on behalf of its callers. */
  readonly delegation?: DelegationOptions
  /** Reports what the runtime does, such as `openTelemetry()` of `parley-a2a/telemetry`. */
  readonly telemetry?: Telemetry | undefined
  /**
   * Adds the position in the trace to events: `metadata.traceId` and `metadata.spanId`. Defaults to false, except for
   * callers whose dialect requires it.
   */
  readonly traceMetadata?: boolean
  /** What is recorded of the work of turns, for operators. `false` records nothing. Content is off by default. */
  readonly trace?: TraceOptions | false
  /** For tests. The log must use the same clock. */
  readonly clock?: Clock
}

export type RuntimeSettings = Required<
  Omit<RuntimeOptions, OptionalSetting | 'recovery' | 'retention' | 'calls' | 'trace' | keyof MediaTypeOptions>
> &
  Pick<RuntimeOptions, OptionalSetting> & {
    /** Undefined if no trace is recorded. */
    readonly trace: TraceSettings | undefined
    /** Undefined if the log has nothing for operators. */
    readonly usageLog: UsageLog | undefined
    readonly recovery: RecoverySettings
    readonly retention: RetentionSettings
    readonly calls: CallSettings
    readonly secretStore: SecretStore
    readonly snapshotQueue: SnapshotQueue
    /** Undefined if media types are not checked. */
    readonly mediaTypes: MediaTypeCheck | undefined
    /** As `taskAfter`, for callers that read a stream. */
    readonly taskAfterInStreams: number
  }

/** The options without a default. */
type OptionalSetting =
  | 'turnDeadline'
  | 'inactivityTimeout'
  | 'blockFor'
  | 'policy'
  | 'push'
  | 'acquireSlot'
  | 'chargeUsage'
  | 'checkContinuation'
  | 'delegation'
  | 'telemetry'
  | 'traceMetadata'
  | 'urlSchemes'

/** What happens to a turn whose process is gone. */
export interface RecoverySettings {
  readonly policy: RecoveryPolicy
  readonly attempts: number
  /** Turns are journaled, so that they can continue. The policy `fail` does without, and pays nothing for it. */
  readonly isJournaled: boolean
}

export interface RetentionSettings {
  /** Phases with the same retention. */
  readonly groups: readonly { readonly age: number; readonly phases: readonly EndedPhase[] }[]
  /** The longest retention. `Infinity` if some tasks are kept forever. */
  readonly longest: number
  /** Milliseconds after which tombstones are removed. */
  readonly forgetAfter: number
}

export function withDefaults(options: RuntimeOptions): RuntimeSettings {
  const { agent, clock = systemClock, blockFor = Number.POSITIVE_INFINITY } = options
  const { taskAfter = 10_000, taskAfter: taskAfterInStreams = workingAfter } = options
  const log = withRevisions(options.log)
  return {
    logger: consoleLogger,
    whileBusy: 'queue',
    queueLimit: 100,
    whenFull: 'refuse',
    cancelGrace: 5_000,
    durability: 'window',
    leaseTtl: 15_000,
    dedupeNewTasks: false,
    answersByContext: false,
    keepMetadata: false,
    answers: 'auto',
    errorMessages: false,
    reusedMessageId: 'accept',
    holder: crypto.randomUUID(),
    ...options,
    log,
    clock,
    // When a blocking send ends, there must be a task to return.
    taskAfter: Math.min(taskAfter, blockFor / 2),
    taskAfterInStreams,
    retention: readRetention(options.retention),
    recovery: readRecovery(options.recovery ?? agent.profile.recovery ?? 'fail'),
    calls: readCallSettings(agent, options.calls),
    secretStore: createSecretStore(clock),
    snapshotQueue: createSnapshotQueue(log),
    mediaTypes: createMediaTypeCheck(agent.profile, options),
    trace: readTraceOptions(options.trace),
    usageLog: openUsageLog(options),
  }
}

function openUsageLog({ log, clock = systemClock, logger = consoleLogger }: RuntimeOptions): UsageLog | undefined {
  const records = (log as LogWithOperator).operator?.records
  const onError = (error: unknown) => logger.debug({ error: loggedError(error) }, 'usage could not be stored')
  return records && createUsageLog({ records, clock, onError })
}

function readTraceOptions(options: TraceOptions | false = {}): TraceSettings | undefined {
  if (options === false) return undefined
  const { entries = 256, bytes = 65_536, content = false } = options
  return { entries, bytes, content }
}

export function readRetention(retention: Retention = {}): RetentionSettings {
  for (const [name, age] of Object.entries(retention)) {
    if (!retentionNames.includes(name)) {
      throw new TypeError(`retention: there is no ${name}; expected ${retentionNames.join(', ')}`)
    }
    if (typeof age !== 'number' || Number.isNaN(age)) {
      throw new TypeError(`retention.${name}: expected milliseconds, got ${JSON.stringify(age)}`)
    }
  }
  const { ended: usual = 30 * day, tombstones = 30 * day } = retention
  const byAge = new Map<number, EndedPhase[]>()
  for (const phase of endedPhases) {
    const age = retention[phase] ?? usual
    if (Number.isFinite(age)) byAge.set(age, [...(byAge.get(age) ?? []), phase])
  }
  const longest = Math.max(0, ...endedPhases.map((phase) => retention[phase] ?? usual))
  const groups = Array.from(byAge, ([age, phases]) => ({ age, phases }))
  return { groups, longest, forgetAfter: Math.max(0, ...byAge.keys()) + tombstones }
}

function readRecovery(recovery: Recovery): RecoverySettings {
  const { policy, attempts = 3 } = typeof recovery === 'string' ? { policy: recovery } : recovery
  if (!policies.includes(policy)) {
    throw new TypeError(`recovery: expected fail, retry or resume, got ${JSON.stringify(policy)}`)
  }
  if (!Number.isInteger(attempts) || attempts < 1) {
    throw new TypeError(`recovery.attempts: expected a whole number from 1 on, got ${attempts}`)
  }
  return { policy, attempts, isJournaled: policy !== 'fail' }
}
