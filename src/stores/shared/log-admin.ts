import { defined } from '../../core/base/json.ts'
import type { Phase } from '../../core/protocol/states.ts'

/** Problems that one check reports at most. */
export const maxProblems = 100

/** What operators do with a durable log. None of it needs the agent, and none of it migrates the log. */
export interface LogAdmin {
  /** Size, contents and retention of the log. Reads every task row once. */
  stats(): Promise<LogStats>
  /** Reads the whole log and reports what is damaged or missing. */
  checkIntegrity(): Promise<IntegrityReport>
  /** What the next start of an agent with this version would change, without changing it. */
  planMigration(): Promise<MigrationPlan>
  close(): Promise<void>
}

/** The result of `stats()`: what a log holds. */
export interface LogStats {
  /** The agent whose tasks the log holds. Undefined until one has used it. */
  readonly agent?: string
  /** The format of the tables, a number that grows with every migration. */
  readonly format: number
  readonly size: LogSize
  /** How many tasks there are in each state. `received` and `answered` are exchanges that are no tasks, `expired` tombstones. */
  readonly tasks: Readonly<Partial<Record<Phase | 'expired', number>>>
  readonly events: number
  readonly webhooks: number
  /** When the oldest task with events was created, in milliseconds since 1970. */
  readonly oldest?: number
  /** When the status of a task last changed, in milliseconds since 1970. */
  readonly newest?: number
  readonly retention: RetentionStats
}

/** The size of a log in bytes. */
export interface LogSize {
  /** Bytes on disk. */
  readonly total: number
  /** The same by file (SQLite) or by table with its indexes (PostgreSQL). */
  readonly parts: Readonly<Record<string, number>>
  /** Bytes in `total` that hold nothing at the moment and are used again before the file grows. Only for SQLite. */
  readonly reusable?: number
}

/** What retention has removed so far. */
export interface RetentionStats {
  /** When old tasks were last removed or found to be none, in milliseconds since 1970. Undefined until the first time. */
  readonly lastRun?: number
  /** Tasks whose events were removed since the log exists. */
  readonly expired: number
  /** Tombstones that were removed since the log exists. */
  readonly forgotten: number
}

/** The result of `checkIntegrity()`. */
export interface IntegrityReport {
  readonly isIntact: boolean
  /** What is wrong, in sentences: at most 100. Empty if the log is intact. */
  readonly problems: readonly string[]
}

/** The result of `planMigration()`: what a migration would execute. */
export interface MigrationPlan {
  /** The format of the log. 0 if there is none yet. */
  readonly format: number
  /** The format of this version. */
  readonly newest: number
  /** What would be executed, in this order and in one transaction. Empty if there is nothing to do. */
  readonly steps: readonly MigrationStep[]
  /** Why this version cannot use the log at all. There are no steps then. */
  readonly problem?: string
}

/** One statement group of a migration. */
export interface MigrationStep {
  /** The format after this step. */
  readonly format: number
  readonly sql: string
  /** Whether processes with an older version cannot use the log any more after this step. */
  readonly breaksOlder: boolean
}

/** A check of the log: a query that returns one row per problem, and the sentence for a row. */
export interface IntegrityCheck {
  readonly sql: string
  /** `subject` is the value of the column of the same name. */
  readonly sentence: (subject: string) => string
}

export function reportOf(problems: readonly string[]): IntegrityReport {
  return { isIntact: problems.length === 0, problems: problems.slice(0, maxProblems) }
}

/** Stats in the forms of both drivers: PostgreSQL returns large numbers as text. */
export interface StatsRows {
  readonly phases: readonly { readonly phase: string; readonly tasks: number | string; readonly events: unknown }[]
  readonly times: TimesRow | undefined
  readonly webhooks: number | string
  readonly retention: RetentionRow | undefined
}

export interface TimesRow {
  readonly oldest: number | string | null
  readonly newest: number | string | null
}

export interface RetentionRow {
  readonly last_run: number | string | null
  readonly expired: number | string
  readonly forgotten: number | string
}

export function statsOf({ phases, times, webhooks, retention }: StatsRows): Omit<LogStats, 'format' | 'size'> {
  const { oldest, newest } = times ?? {}
  const lastRun = retention?.last_run
  return defined({
    tasks: Object.fromEntries(phases.map(({ phase, tasks }) => [phase, Number(tasks)])),
    events: phases.reduce((sum, { phase, events }) => sum + (phase === 'expired' ? 0 : Number(events)), 0),
    webhooks: Number(webhooks),
    oldest: oldest != null ? Number(oldest) : undefined,
    newest: newest != null ? Number(newest) : undefined,
    retention: defined({
      lastRun: lastRun != null ? Number(lastRun) : undefined,
      expired: Number(retention?.expired ?? 0),
      forgotten: Number(retention?.forgotten ?? 0),
    }),
  })
}
