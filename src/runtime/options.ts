import type { Agent, Recovery } from '../agent/agent.ts'
import { type Clock, systemClock } from '../protocol/clock.ts'
import { consoleLogger, type Logger } from '../protocol/logger.ts'
import type { Principal } from '../protocol/model.ts'
import type { Call, Operation, SendRequest } from '../protocol/service.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import type { PushOptions } from '../push/options.ts'
import type { PushingLog } from '../push/push.ts'
import type { Others } from '../tasks/log.ts'
import { type CallSettings, type CallsOptions, readCalls } from './calls/settings.ts'
import type { DelegationOptions } from './delegation.ts'
import { type RecoverySettings, readRecovery } from './recovery.ts'
import { type Retention, type RetentionSettings, readRetention } from './retention.ts'
import { createVault, type Vault } from './vault.ts'

export interface RuntimeOptions {
  readonly agent: Agent
  readonly log: PushingLog
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
  readonly holdPlace?: HoldPlace
  /** Asked before a message goes on with a task. Throws if its caller may not use what that was begun for. */
  readonly checkOpening?: (opening: SendRequest, request: SendRequest, call: Call) => Promise<void>
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

export type HoldPlace = (
  kind: 'turns' | 'queued',
  request: SendRequest,
  call: Call,
  /** Of the task that the message goes on with. */
  opening?: SendRequest,
) => Promise<(() => void) | undefined>

export type Policy = (principal: Principal, operation: Operation) => Others | undefined

type Unset =
  | 'turnDeadline'
  | 'inactivityTimeout'
  | 'blockFor'
  | 'policy'
  | 'push'
  | 'holdPlace'
  | 'checkOpening'
  | 'delegation'
  | 'telemetry'
  | 'traceMetadata'
export type RuntimeSettings = Required<Omit<RuntimeOptions, Unset | 'recovery' | 'retention' | 'calls'>> &
  Pick<RuntimeOptions, Unset> & {
    readonly recovery: RecoverySettings
    readonly retention: RetentionSettings
    readonly calls: CallSettings
    readonly vault: Vault
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
    calls: readCalls(agent, options.calls),
    vault: createVault(clock),
  }
}
