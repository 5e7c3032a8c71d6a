import type { Push } from '../../push/push.ts'
import type { CallerLog } from '../caller-log.ts'
import type { RuntimeSettings } from '../options.ts'
import type { Runs } from '../turns/runs.ts'

/** What an operation works with. It has no access to the whole log, only to the log as its caller sees it. */
export interface OperationContext {
  readonly settings: Omit<RuntimeSettings, 'log'>
  readonly runs: Runs
  /** Undefined if the agent sends no push notifications. */
  readonly push: Push | undefined
  readonly log: CallerLog
  /** Aborts when the server shuts down. */
  readonly closing: AbortSignal
}
