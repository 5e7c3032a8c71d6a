import type { InBand } from '../protocol/in-band.ts'
import type { Part } from '../protocol/model.ts'
import type { Push } from '../push/push.ts'
import type { CallerLog } from './caller-log.ts'
import type { RuntimeSettings } from './options.ts'
import type { Runs } from './runs.ts'

/** What an operation works with: the log as its caller sees it, and never the whole one. */
export interface Acceptance {
  readonly settings: Omit<RuntimeSettings, 'log'>
  readonly runs: Runs
  /** Undefined if the agent tells no webhooks. */
  readonly push: Push | undefined
  readonly log: CallerLog
  /** Aborts when this process goes. */
  readonly closing: AbortSignal
  /** Credentials that were taken out of the message. */
  readonly inBand?: readonly InBand[]
  /** What a message said that must not be stored. */
  readonly secret?: readonly Part[]
}
