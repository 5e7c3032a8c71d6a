import { operatorError } from '../../core/protocol/errors.ts'
import { type Database, IncompatibleDatabase } from './database.ts'
import type { MigrationPlan } from './log-admin.ts'
import { lostText, messageOf, type RetryOptions, retryUntilReached } from './outage.ts'

/** How long to wait at start for a database that cannot be reached, in milliseconds. */
const defaultStartPatience = 60_000

export interface Migration {
  /** The statements, with `$` for what precedes the name of a table. Released migrations never change. */
  readonly sql: string
  /**
   * Whether older versions cannot work with the new format. Not allowed within a major version: during a rolling
   * upgrade, replicas of both versions share the tables, so a new column needs a default or must be nullable.
   */
  readonly breaksOlder?: true
}

/** The format of the tables of a store. */
export interface Format {
  readonly format: number
  /** The oldest format that a version must know to work with the tables. */
  readonly oldest: number
}

export interface ReachOptions extends Pick<RetryOptions, 'subject' | 'logger' | 'closed'> {
  readonly db: Pick<Database, 'errors'>
  readonly startPatience: number | undefined
}

/** Migrates a database at start, as soon as it can be reached. At start, the operator is the caller. */
export async function migrateWhenReached(migrate: () => Promise<void>, options: ReachOptions): Promise<void> {
  const { subject, db, startPatience: patience = defaultStartPatience } = options
  const { isDisconnected, explain } = db.errors
  await retryUntilReached(migrate, { ...options, patience, mayRetry: isDisconnected }).catch((error) => {
    if (!isDisconnected(error)) throw operatorError(explain(error))
    throw withoutStack(new Error(`${subject} ${lostText(patience)}: ${messageOf(error)}`))
  })
}

/** Most applications do not catch this error, so Node prints it: one sentence for the operator. */
function withoutStack(error: Error): Error {
  return Object.assign(error, { stack: `${error.name}: ${error.message}` })
}

/** What opening the log would change. */
export function planFor(
  current: Format,
  migrations: readonly Migration[],
  statementsOf: (sql: string) => string,
): MigrationPlan {
  const { format } = current
  const newest = migrations.length
  const problem = formatProblem(current, migrations)
  if (problem !== undefined) return { format, newest, steps: [], problem }
  const steps = migrations.slice(format).map(({ sql, breaksOlder = false }, index) => ({
    format: format + index + 1,
    sql: statementsOf(sql),
    breaksOlder,
  }))
  return { format, newest, steps }
}

export function isCurrent(current: Format, available: readonly Migration[]): boolean {
  const problem = formatProblem(current, available)
  if (problem !== undefined) throw new IncompatibleDatabase(problem)
  return current.format >= available.length
}

/** Why this version cannot use the tables. Undefined if it can. */
export function formatProblem({ format, oldest }: Format, available: readonly Migration[]): string | undefined {
  if (oldest <= available.length) return undefined
  return `it has format ${format} of a newer parley-a2a, which this one, knowing formats up to ${available.length}, cannot use; update parley-a2a`
}
