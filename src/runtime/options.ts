import type { Agent, Recovery, RecoveryPolicy } from '../agent/agent.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { consoleLogger, type Logger } from '../base/logger.ts'
import type { Principal } from '../protocol/model.ts'
import type { TokenExchange } from '../protocol/principal.ts'
import type { Call, Operation, SendRequest } from '../protocol/service.ts'
import type { EndedPhase } from '../protocol/states.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import type { PushOptions } from '../push/options.ts'
import type { LogWithWebhooks } from '../push/push.ts'
import type { VisibleOwners } from '../tasks/log.ts'
import { type CallSettings, type CallsOptions, readCallSettings } from './calls/options.ts'
import { createSecretStore, type SecretStore } from './secrets.ts'

const policies: readonly string[] = ['fail', 'retry', 'resume'] satisfies RecoveryPolicy[]

const day = 24 * 60 * 60 * 1000

const ended: readonly EndedPhase[] = ['answered', 'completed', 'failed', 'canceled', 'rejected']

export type Policy = (principal: Principal, operation: Operation) => VisibleOwners | undefined

/** How long ended tasks are kept, in milliseconds; `Infinity` keeps them. A state may have a time of its own. */
export interface Retention extends Readonly<Partial<Record<EndedPhase, number>>> {
  /** For all states that are not named. 30 days unless said. */
  readonly ended?: number
  /** How long after that it is still known that a task has expired: at least so long. 30 days unless said. */
  readonly tombstones?: number
}

export type AcquireSlot = (
  kind: 'turns' | 'queued',
  request: SendRequest,
  call: Call,
  /** Of the task that the message goes on with. */
  opening?: SendRequest,
) => Promise<(() => void) | undefined>

/** How an agent gets tokens in the name of its callers. */
export interface DelegationOptions {
  readonly exchange: TokenExchange
  /** The token with which a caller has proved who it is, if it was one. */
  readonly tokenOf: (principal: Principal) => string | undefined
}

export interface RuntimeOptions {
  readonly agent: Agent
  readonly log: LogWithWebhooks
  readonly logger?: Logger
  /** A message for a task that is at work: run it next (default), refuse it, or stop the turn and run it now. */
  readonly whileBusy?: 'queue' | 'reject' | 'interrupt'
  /** How many messages may wait for one task. */
  readonly queueLimit?: number
  /** One message more: it is refused (default), or it fails the task, which says so. */
  readonly whenFull?: 'refuse' | 'fail'
  /** How long an agent may take to stop after its signal aborted, in milliseconds; then it is left behind. */
  readonly cancelGrace?: number
  /** How long a turn may take, in milliseconds. Without it, as long as it wants. */
  readonly turnDeadline?: number
  /** How long a turn may give no sign of life (an event, a step), in milliseconds. Waiting for its caller is none. */
  readonly inactivityTimeout?: number
  /**
   * How long a blocking send waits, in milliseconds; then it is answered with the task as it is. Set it below the limit
   * of a proxy that cuts long requests, such as 55,000. Without it, until the task rests.
   */
  readonly blockFor?: number
  /** A turn that has neither answered nor touched its task after so many milliseconds becomes a task. */
  readonly taskAfter?: number
  /** How long a silent writer is trusted, in milliseconds. Tasks of a dead process are found after that time. */
  readonly leaseTtl?: number
  /** What becomes of turns whose process is gone: what the agent says unless said here. */
  readonly recovery?: Recovery
  /** Also take two *new* messages with one `messageId` for the same. Off, because real clients reuse ids. */
  readonly dedupeNewTasks?: boolean
  /** Names this process in the leases it holds, for people who look into the store. */
  readonly holder?: string
  /** Lets a caller see more than its own tasks: of a team, of a tenant, or of everyone. Asked for every call. */
  readonly policy?: Policy
  /** Tells webhooks what happens to tasks. Without it there are none. */
  readonly push?: PushOptions
  /** How long ended tasks are kept, by their states. */
  readonly retention?: Retention
  /** Asked before a message begins a turn, or waits for one. Throws if it may not; gives what to call when that is over. */
  readonly acquireSlot?: AcquireSlot
  /** Asked before a message goes on with a task. Throws if its caller may not use what that was begun for. */
  readonly checkContinuation?: (opening: SendRequest, request: SendRequest, call: Call) => Promise<void>
  /** How the agent asks other agents. */
  readonly calls?: CallsOptions
  /** How it gets tokens in the name of its callers. */
  readonly delegation?: DelegationOptions
  /** Who watches what is done, such as `openTelemetry()` of `parley-a2a/telemetry`. */
  readonly telemetry?: Telemetry | undefined
  /**
   * Whether events tell where they are in their trace: `metadata.traceId` and `metadata.spanId`. Off by default, but for
   * callers whose dialect has it so.
   */
  readonly traceMetadata?: boolean
  /** For tests. The log must have the same. */
  readonly clock?: Clock
}

/** What becomes of a turn whose process is gone. */
export interface RecoverySettings {
  readonly policy: RecoveryPolicy
  readonly attempts: number
  /** What is needed to go on is written down. Agents that just fail pay nothing for it. */
  readonly isJournaled: boolean
}

/** What is to be expired together, and when tombstones are forgotten. */
export interface RetentionSettings {
  readonly groups: readonly { readonly age: number; readonly phases: readonly EndedPhase[] }[]
  /** After which time no task is left; of those that are kept for ever, never. */
  readonly longest: number
  readonly forgetAfter: number
}

export type RuntimeSettings = Required<Omit<RuntimeOptions, Unset | 'recovery' | 'retention' | 'calls'>> &
  Pick<RuntimeOptions, Unset> & {
    readonly recovery: RecoverySettings
    readonly retention: RetentionSettings
    readonly calls: CallSettings
    readonly secretStore: SecretStore
  }

export function withDefaults(options: RuntimeOptions): RuntimeSettings {
  const { agent, clock = systemClock, taskAfter = 10_000, blockFor = Number.POSITIVE_INFINITY } = options
  return {
    logger: consoleLogger,
    whileBusy: 'queue',
    queueLimit: 100,
    whenFull: 'refuse',
    cancelGrace: 5_000,
    leaseTtl: 15_000,
    dedupeNewTasks: false,
    holder: crypto.randomUUID(),
    ...options,
    clock,
    // Who stops waiting must be told a task.
    taskAfter: Math.min(taskAfter, blockFor / 2),
    retention: readRetention(options.retention),
    recovery: readRecovery(options.recovery ?? agent.profile.recovery ?? 'fail'),
    calls: readCallSettings(agent, options.calls),
    secretStore: createSecretStore(clock),
  }
}

export function readRetention(retention: Retention = {}): RetentionSettings {
  for (const [name, age] of Object.entries(retention)) {
    if (!names.includes(name)) throw new TypeError(`retention: there is no ${name}; expected ${names.join(', ')}`)
    if (typeof age !== 'number' || Number.isNaN(age)) {
      throw new TypeError(`retention.${name}: expected milliseconds, got ${JSON.stringify(age)}`)
    }
  }
  const { ended: usual = 30 * day, tombstones = 30 * day } = retention
  const byAge = new Map<number, EndedPhase[]>()
  for (const phase of ended) {
    const age = retention[phase] ?? usual
    if (Number.isFinite(age)) byAge.set(age, [...(byAge.get(age) ?? []), phase])
  }
  const longest = Math.max(0, ...ended.map((phase) => retention[phase] ?? usual))
  const groups = Array.from(byAge, ([age, phases]) => ({ age, phases }))
  return { groups, longest, forgetAfter: Math.max(0, ...byAge.keys()) + tombstones }
}

const names: readonly string[] = [...ended, 'ended', 'tombstones']

type Unset =
  | 'turnDeadline'
  | 'inactivityTimeout'
  | 'blockFor'
  | 'policy'
  | 'push'
  | 'acquireSlot'
  | 'checkContinuation'
  | 'delegation'
  | 'telemetry'
  | 'traceMetadata'

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
