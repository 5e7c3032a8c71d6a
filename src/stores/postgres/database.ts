import { createHash } from 'node:crypto'
import { createBackoff } from './backoff.ts'
import type { PostgresPool, PostgresResult, PostgresValue } from './driver.ts'
import type { Line } from './line.ts'
import { explainTrouble, isDisconnected } from './trouble.ts'

/** The database as the parts of the log see it. */
export interface Database {
  /** How a table, or whatever else is in our schema, is called in a statement. */
  name(thing: string): string
  prepare<Row>(text: string): Query<Row>
  /** The same for what is small and somebody waits for: it takes the shortest way to the database. */
  prepareUrgent<Row>(text: string): Query<Row>
  /** Repeats what may be repeated until the database is back, for as long as the log is patient. */
  patiently<T>(work: () => Promise<T>): Promise<T>
  /** An error for the operator's log. */
  explain(error: unknown): Error
  /** Aborts when the log has closed. */
  readonly closed: AbortSignal
}

/** Asks once. If it rejects because the connection broke, the statement may have been done or not. */
export type Query<Row> = (...values: PostgresValue[]) => Promise<readonly Row[]>

export interface DatabaseOptions {
  readonly pool: PostgresPool
  readonly schema: string
  /** How long one statement may take, and how long to wait for the database to come back, in milliseconds. */
  readonly statementTimeout: number
  readonly patience: number
  readonly closed: AbortSignal
  /** The short way, if there is one. */
  readonly nearby?: Line['ask']
  /** What is kept in it, as errors call it. The task log by default. */
  readonly what?: string
}

export function createDatabase(options: DatabaseOptions): Database {
  const { pool, schema, statementTimeout, patience, closed, nearby, what } = options
  const name = (thing: string) => `"${schema}".${thing}`

  function ask({ name, text }: PreparedQuery, values: PostgresValue[]): Promise<PostgresResult> {
    return within(statementTimeout * 1.5, pool.query({ name, text, values, query_timeout: statementTimeout }))
  }

  function askNearby({ name, text }: PreparedQuery, values: PostgresValue[]): Promise<PostgresResult> | undefined {
    return nearby?.({ name, text, values })
  }

  return {
    name,
    closed,
    explain: (error) => explainTrouble(error, schema, what),
    prepare<Row>(text: string): Query<Row> {
      const prepared = nameOf(text)
      return async (...values) => (await ask(prepared, values)).rows as Row[]
    },
    prepareUrgent<Row>(text: string): Query<Row> {
      const prepared = nameOf(text)
      return async (...values) => (await (askNearby(prepared, values) ?? ask(prepared, values))).rows as Row[]
    },
    async patiently(work) {
      const end = performance.now() + patience
      const backoff = createBackoff(closed)
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (!isDisconnected(error) || performance.now() > end || closed.aborted)
            throw explainTrouble(error, schema, what)
          await backoff.wait()
        }
      }
    },
  }
}

interface PreparedQuery {
  readonly name: string
  readonly text: string
}

/** Stores of other schemas, and other versions of this one, may share the connection. */
function nameOf(text: string): PreparedQuery {
  return { name: `parley_${createHash('sha1').update(text).digest('hex').slice(0, 24)}`, text }
}

/** A pool may wait for ever for a connection that cannot be made. */
export async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
