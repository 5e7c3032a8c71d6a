import { setTimeout as sleep } from 'node:timers/promises'
import { delayAfter } from '../../core/base/backoff.ts'
import { BoundedMap } from '../../core/base/bounded-map.ts'
import type { Logger } from '../../core/base/logger.ts'
import { StoreUnavailable } from '../../core/protocol/errors.ts'
import { createOutages, lostText, type Outages } from './outage.ts'
import type { SqlSyntax } from './sql-syntax.ts'
import {
  type Call,
  numberPlaceholders,
  orderedValues,
  type SqlValue,
  type Statement,
  type StatementText,
  type Values,
} from './statement.ts'

/** Number of compiled statements to cache, of those whose texts depend on the request. */
const maxCompiled = 200

const delays = { minDelay: 20, maxDelay: 1_000 }

/** Timeout in milliseconds of a statement that only shows whether the database can be reached. */
export const probeTimeout = 5_000

/** What the errors of a driver mean. */
export interface StoreErrors {
  /** Whether the connection broke or the server is not ready: the statement may have been executed or not. */
  isDisconnected(error: unknown): boolean
  /** Whether a concurrent transaction made the statement fail without effect: a retry sees the result of the other one. */
  isConflict(error: unknown): boolean
  /** The error of a failed operation: `StoreUnavailable` if the database cannot be used, with what to do as its cause. */
  explain(error: unknown): Error
}

export interface SqlResult {
  readonly rows: readonly unknown[]
  /** The number of rows that a statement has changed. */
  readonly changed: number
}

/** The values of a statement that has none. */
export type NoValues = Readonly<Record<never, SqlValue>>

/** Runs a statement once. If it rejects because the connection broke, the statement may have been executed or not. */
export type Query<Row, V = NoValues> = Call<V, readonly Row[]>

/** Prepares a statement by its text and the names of its values. */
export type Prepare = <Row = unknown, V extends Values<V> = NoValues>(text: StatementText<V>) => Query<Row, V>

/** Prepares a statement that returns how many rows it has changed. */
export type PrepareChange = <V extends Values<V> = NoValues>(text: StatementText<V>) => Call<V, number>

/** Runs a statement of a transaction. */
export type RunQuery = <Row = unknown, V extends Values<V> = NoValues>(
  text: StatementText<V>,
  ...values: [keyof V] extends [never] ? [] : [V]
) => Promise<readonly Row[]>

/** A database on a server, as the stores see it. */
export interface Database {
  readonly syntax: SqlSyntax
  /** The qualified name of a table. */
  name(table: string): string
  readonly prepare: Prepare
  /** The same for small statements on the critical path. */
  readonly prepareUrgent: Prepare
  readonly prepareChange: PrepareChange
  /** Runs a statement whose text depends on the request. */
  run<Row>(statement: Statement): Promise<readonly Row[]>
  /** Runs all of the work in one transaction, or nothing. */
  transaction<T>(work: (query: RunQuery) => Promise<T>): Promise<T>
  /** Repeats idempotent work while the database is unreachable, for up to `patience` milliseconds. */
  withRetry<T>(work: () => Promise<T>): Promise<T>
  /**
   * Throws if the database has been unreachable for longer than `patience`: another attempt would only delay the answer.
   * The database is tried in the background until it can be reached.
   */
  requireReachable(): void
  readonly errors: StoreErrors
  /** Aborts when the store is closed. */
  readonly closed: AbortSignal
  readonly outages: Pick<Outages, 'whenLost'>
}

/** A driver of a database. */
export interface DriverOptions<Prepared> {
  /** What is stored where, for log lines and errors: "The task log in schema parley of PostgreSQL". */
  readonly subject: string
  readonly errors: StoreErrors
  readonly syntax: SqlSyntax
  readonly name: (table: string) => string
  /** Prepares a statement with the placeholders `$1`, `$2`, … */
  readonly compile: (text: string) => Prepared
  readonly query: (prepared: Prepared, values: SqlValue[]) => Promise<SqlResult>
  /** Runs an urgent statement in a faster way, if that is possible at the moment. It has a timeout of its own. */
  readonly queryUrgent?: (prepared: Prepared, values: SqlValue[]) => Promise<SqlResult> | undefined
  /** Calls `work` with a function that runs a statement in a transaction. */
  readonly transaction: <T>(
    work: (query: (text: string, values: SqlValue[]) => Promise<SqlResult>) => Promise<T>,
  ) => Promise<T>
  /** Rejects if the database cannot be reached. */
  readonly probe: () => Promise<unknown>
  /** Timeout of one statement, in milliseconds. */
  readonly statementTimeout: number
  /** How long to wait for an unreachable database, in milliseconds. */
  readonly patience: number
  readonly closed: AbortSignal
  readonly logger: Logger
}

export function createDatabase<Prepared>(options: DriverOptions<Prepared>): Database {
  const { subject, errors, compile, statementTimeout, patience, closed, logger } = options
  const outages = createOutages({ subject, probe: () => withTimeout(probeTimeout, options.probe()), logger, closed })
  const compiled = new BoundedMap<string, Prepared>(maxCompiled)

  async function tracked<T>(work: Promise<T>): Promise<T> {
    try {
      const result = await withTimeout(statementTimeout * 1.5, work)
      if (outages.isOpen) outages.end()
      return result
    } catch (error) {
      if (errors.isDisconnected(error)) outages.begin()
      throw error
    }
  }

  const query = (prepared: Prepared, values: SqlValue[]) => tracked(options.query(prepared, values))

  function prepareWith<Result>(run: typeof query, resultOf: (result: SqlResult) => Result) {
    return <V extends Values<V>>(write: StatementText<V>) => {
      const { text, names } = numberPlaceholders(write)
      const prepared = compile(text)
      const call = async (values?: V) => resultOf(await run(prepared, orderedValues(names, values)))
      return call as Call<V, Result>
    }
  }

  return {
    name: options.name,
    syntax: options.syntax,
    errors,
    closed,
    outages,
    requireReachable() {
      if (outages.duration <= patience) return
      throw new StoreUnavailable(new Error(`${subject} ${lostText(patience)}.`))
    },
    prepare: prepareWith(query, rowsOf) as Prepare,
    prepareUrgent: prepareWith(
      (prepared, values) => options.queryUrgent?.(prepared, values) ?? query(prepared, values),
      rowsOf,
    ) as Prepare,
    prepareChange: prepareWith(query, ({ changed }) => changed),
    async run<Row>({ text, values }: Statement) {
      const prepared = compiled.get(text) ?? compile(text)
      compiled.set(text, prepared)
      return rowsOf(await query(prepared, [...values])) as readonly Row[]
    },
    transaction: (work) =>
      options.transaction((runQuery) =>
        work(async <Row, V>(write: StatementText<V>, values?: V) => {
          const { text, names } = numberPlaceholders(write)
          return rowsOf(await runQuery(text, orderedValues(names, values ?? {}))) as readonly Row[]
        }),
      ),
    async withRetry(work) {
      const end = performance.now() + patience
      // Keeps the process alive: the application waits for the result.
      const backoff = createBackoff(closed, true)
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (!errors.isDisconnected(error) || performance.now() > end || closed.aborted) throw errors.explain(error)
          await backoff.wait()
        }
      }
    },
  }
}

function rowsOf({ rows }: SqlResult): readonly unknown[] {
  return rows
}

/** Bounds the wait for a pool, which may wait forever for a connection. */
export async function withTimeout<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds)
  })
  return await Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** Takes a connection from a pool. One that comes too late is given back. */
export async function connectWithin<C>(timeout: number, connecting: Promise<C>, giveBack: (connection: C) => void) {
  return await withTimeout(timeout, connecting).catch((error) => {
    connecting.then(giveBack).catch(() => {})
    throw error
  })
}

/** Waits longer after every failure, with jitter. */
export interface Backoff {
  wait(): Promise<void>
  reset(): void
}

export function createBackoff(signal: AbortSignal, ref = false): Backoff {
  let failures = 0
  return {
    async wait() {
      await sleep(delayAfter(++failures, delays), undefined, { signal, ref }).catch(() => {})
    },
    reset() {
      failures = 0
    },
  }
}

/** This version cannot work with the contents of the database; a retry does not help. */
export class IncompatibleDatabase extends Error {
  override readonly name = 'IncompatibleDatabase'
}
