import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { delayAfter } from '../../core/base/backoff.ts'
import { BoundedMap } from '../../core/base/bounded-map.ts'
import { consoleLogger, type Logger } from '../../core/base/logger.ts'
import { having, type OptionCheck } from '../../core/base/options.ts'
import { StoreUnavailable } from '../../core/protocol/errors.ts'
import { importOptional } from '../../core/protocol/lazy-import.ts'
import { createOutages, lostText, messageOf, type Outages } from '../shared/outage.ts'
import {
  type Call,
  numberPlaceholders,
  orderedValues,
  type SqlValue,
  type Statement,
  type StatementText,
  type Values,
} from '../shared/statement.ts'

/** Number of statements whose names are cached, of those whose texts depend on the request. */
const maxNamed = 200

const delays = { minDelay: 20, maxDelay: 1_000 }

/** Timeout in milliseconds of a statement that only shows whether the database can be reached. */
export const probeTimeout = 5_000

/** The server is shutting down, crashing or starting up, has too many connections, or has become a standby. */
const transientStates = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25006'])

/**
 * Classes of SQLSTATEs that say that the database cannot be used, rather than that a statement is wrong: connection,
 * read-only transaction, authorization, database, resources, locks, operator, system, corruption.
 */
const unusableClasses = new Set(['08', '25', '28', '3D', '53', '55', '57', '58', 'XX'])

/** Whether a concurrent transaction made the statement fail without effect: a retry sees the result of the other one. */
export function isConflict(error: unknown): boolean {
  return ['23505', '40001', '40P01'].includes(sqlState(error) ?? '')
}

export interface PostgresStatement {
  /** A named statement is parsed once per connection. */
  readonly name?: string
  readonly text: string
  readonly values?: SqlValue[]
  /** Time after which the driver closes the connection, in milliseconds. */
  readonly query_timeout?: number
}

export interface PostgresResult {
  readonly rows: unknown[]
}

export interface PostgresNotification {
  readonly payload?: string | undefined
}

export interface PostgresClient {
  query(statement: PostgresStatement): Promise<PostgresResult>
  on(event: 'notification', listener: (notification: PostgresNotification) => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'end', listener: () => void): unknown
  /** Lets the process exit although the connection is open; `ref` undoes it. */
  unref?(): void
  ref?(): void
  /** Returns the connection to its pool, or closes it if `destroy` is true. */
  release(destroy?: boolean): void
}

export interface HeldConnectionOptions {
  readonly client: PostgresClient
  /** Timeout of a statement in milliseconds. */
  readonly timeout: number
  /** Called when a statement timed out or the connection broke: it is unusable then. */
  readonly onBroken: () => void
}

/** A connection outside its pool that runs one statement at a time. */
export interface HeldConnection {
  /** Undefined while another statement is running. */
  query(statement: PostgresStatement): Promise<PostgresResult> | undefined
  /** Resolves when no statement is running. */
  idle(): Promise<void>
  close(): void
}

export function createHeldConnection({ client, timeout, onBroken }: HeldConnectionOptions): HeldConnection {
  let current: PendingQuery | undefined
  // One timer for all statements, because creating one takes longer than the rest of the call.
  const timer = setTimeout(() => fail(new Error(`no answer within ${timeout} ms`)), timeout).unref()
  client.unref?.() // an idle connection does not keep the process alive

  function finish(): PendingQuery | undefined {
    const finished = current
    current = undefined
    client.unref?.()
    finished?.finish()
    return finished
  }

  function fail(error: unknown) {
    if (!current) return
    finish()?.reject(error)
    if (isDisconnected(error)) onBroken()
  }

  return {
    query(statement) {
      if (current) return undefined
      const { promise: done, resolve: markDone } = Promise.withResolvers<void>()
      return new Promise((resolve, reject) => {
        current = { done, finish: markDone, reject }
        timer.refresh()
        client.ref?.()
        client.query(statement).then((result) => {
          finish()
          resolve(result)
        }, fail)
      })
    },
    idle: () => current?.done ?? Promise.resolve(),
    close() {
      clearTimeout(timer)
      fail(new Error('the connection was closed'))
    },
  }
}

/** The part of a PostgreSQL driver that the stores use. A `Pool` of the package `pg` implements it. Stores never end it. */
export interface PostgresPool {
  query(statement: PostgresStatement): Promise<PostgresResult>
  connect(): Promise<PostgresClient>
  /** An idle connection can break, and Node ends a process that has no listener for its error. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** The same for a connection that was just taken from the pool. */
  on(event: 'acquire', listener: (client: Pick<PostgresClient, 'on'>) => void): unknown
}

export const poolCheck: OptionCheck = having('a Pool of the package pg', 'connect', 'query')

/** A pool that its owner ends. */
export interface OwnedPool extends PostgresPool {
  end(): Promise<void>
}

/** Opens a pool of the package `pg`, an optional dependency that is loaded only here. */
export async function openPool(connectionString: string): Promise<OwnedPool> {
  const { default: pg } = await importOptional(() => import('pg'), 'PARLEY_DATABASE_URL', 'pg')
  return new pg.Pool({ connectionString, application_name: 'parley' })
}

export interface DatabaseOptions {
  readonly pool: PostgresPool
  readonly schema: string
  /** Timeout of one statement, in milliseconds. */
  readonly statementTimeout: number
  /** How long to wait for an unreachable database, in milliseconds. */
  readonly patience: number
  readonly closed: AbortSignal
  /** Runs a statement on a held connection, if one is idle. */
  readonly queryHeld?: HeldConnection['query']
  /** What the database stores, for error messages. Defaults to "The task log". */
  readonly subject?: string
  /** Receives warnings about an unreachable database. Defaults to the console. */
  readonly logger?: Logger
}

/** Runs a statement once. If it rejects because the connection broke, the statement may have been executed or not. */
export type Query<Row, V = NoValues> = Call<V, readonly Row[]>

/** The values of a statement that has none. */
export type NoValues = Readonly<Record<never, SqlValue>>

/** Prepares a statement by its text and the names of its values. */
export type Prepare = <Row = unknown, V extends Values<V> = NoValues>(text: StatementText<V>) => Query<Row, V>

/** The database as the stores see it. */
export interface Database {
  /** The qualified name of a table in the schema. */
  name(table: string): string
  readonly prepare: Prepare
  /** The same for small statements on the critical path: they use the held connection if it is idle. */
  readonly prepareUrgent: Prepare
  /** Runs a statement whose text depends on the request. */
  run<Row>(statement: Statement): Promise<readonly Row[]>
  /** Repeats idempotent work while the database is unreachable, for up to `patience` milliseconds. */
  withRetry<T>(work: () => Promise<T>): Promise<T>
  /**
   * Throws if the database has been unreachable for longer than `patience`: another attempt would only delay the answer.
   * The database is tried in the background until it can be reached.
   */
  requireReachable(): void
  /** The error of a failed operation: `StoreUnavailable` if the database cannot be used. */
  failure(error: unknown): Error
  /** Aborts when the store is closed. */
  readonly closed: AbortSignal
  readonly outages: Pick<Outages, 'whenLost'>
}

export function createDatabase(options: DatabaseOptions): Database {
  const { pool, schema, statementTimeout, patience, closed, queryHeld, subject, logger = consoleLogger } = options
  const name = (table: string) => `"${schema}".${table}`
  const outages = createOutages({
    subject: subjectIn(schema, subject),
    probe: () => withTimeout(probeTimeout, pool.query({ text: 'SELECT 1', query_timeout: probeTimeout })),
    logger,
    closed,
  })

  function queryPool({ name, text }: PreparedQuery, values: SqlValue[]): Promise<PostgresResult> {
    const querying = pool.query({ name, text, values, query_timeout: statementTimeout })
    return withTimeout(statementTimeout * 1.5, querying, outages)
  }

  function queryHeldFirst({ name, text }: PreparedQuery, values: SqlValue[]): Promise<PostgresResult> {
    return queryHeld?.({ name, text, values }) ?? queryPool({ name, text }, values)
  }

  const named = new BoundedMap<string, PreparedQuery>(maxNamed)

  function nameOnce(text: string): PreparedQuery {
    const prepared = named.get(text) ?? namedQuery(text)
    named.set(text, prepared)
    return prepared
  }

  function prepareWith(query: typeof queryPool): Prepare {
    return <Row, V extends Values<V>>(write: StatementText<V>) => {
      const { text, names } = numberPlaceholders(write)
      const prepared = namedQuery(text)
      const call = async (values?: V) => (await query(prepared, orderedValues(names, values))).rows as Row[]
      return call as Query<Row, V>
    }
  }

  return {
    name,
    closed,
    outages,
    failure: (error) => storeError(error, schema, subject),
    requireReachable() {
      if (outages.duration <= patience) return
      throw new StoreUnavailable(new Error(`${subjectIn(schema, subject)} ${lostText(patience)}.`))
    },
    prepare: prepareWith(queryPool),
    prepareUrgent: prepareWith(queryHeldFirst),
    run: async <Row>({ text, values }: Statement) => (await queryPool(nameOnce(text), [...values])).rows as Row[],
    async withRetry(work) {
      const end = performance.now() + patience
      // Keeps the process alive: the application waits for the result.
      const backoff = createBackoff(closed, true)
      for (;;) {
        try {
          return await work()
        } catch (error) {
          if (!isDisconnected(error) || performance.now() > end || closed.aborted)
            throw storeError(error, schema, subject)
          await backoff.wait()
        }
      }
    },
  }
}

/** Runs a statement of a transaction. */
export type RunQuery = <Row = unknown, V extends Values<V> = NoValues>(
  text: StatementText<V>,
  ...values: [keyof V] extends [never] ? [] : [V]
) => Promise<readonly Row[]>

/** Runs all of the work in one transaction, or nothing. */
export async function inTransaction<T>(
  pool: PostgresPool,
  timeout: number,
  work: (query: RunQuery) => Promise<T>,
): Promise<T> {
  const connecting = pool.connect()
  const client = await withTimeout(timeout, connecting).catch((error) => {
    connecting.then((lateClient) => lateClient.release()).catch(() => {})
    throw error
  })
  const query: RunQuery = async <Row, V>(write: StatementText<V>, values?: V) => {
    const { text, names } = numberPlaceholders(write)
    return (await client.query({ text, values: orderedValues(names, values ?? {}), query_timeout: timeout }))
      .rows as Row[]
  }
  let isBroken = true
  try {
    await query(() => 'BEGIN')
    const result = await work(query)
    await query(() => 'COMMIT')
    isBroken = false
    return result
  } finally {
    client.release(isBroken) // closing the connection rolls back
  }
}

/** Whether the connection broke or the server is not ready: the statement may have been executed or not. */
export function isDisconnected(error: unknown): boolean {
  const code = sqlState(error)
  // An error that does not come from the server is a connection error, unless the application ended the pool.
  if (code === undefined) return !isOwnError(error) && !/after calling end/.test(messageOf(error))
  return code.startsWith('08') || transientStates.has(code)
}

/** Whether a statement was rejected because another one has stored a row with the same key. */
export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505'
}

/** Bounds the wait for a pool, which may wait forever for a connection. Reports whether the database was reached. */
export async function withTimeout<T>(milliseconds: number, work: Promise<T>, outages?: Outages): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${milliseconds} ms`)), milliseconds)
  })
  try {
    const result = await Promise.race([work, late])
    if (outages?.isOpen) outages.end()
    return result
  } catch (error) {
    if (outages && isDisconnected(error)) outages.begin()
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** An error for the operator: what is wrong, what to do. It contains neither address nor password. */
function explainError(error: unknown, schema: string, subject?: string): Error {
  const advice = adviceBySqlState[sqlState(error) ?? '']
  return new Error(`${subjectIn(schema, subject)} ${advice ?? 'cannot be used'}: ${messageOf(error)}`, { cause: error })
}

/** A store of a schema, for error messages. */
export function subjectIn(schema: string, subject = 'The task log'): string {
  return `${subject} in schema ${schema} of PostgreSQL`
}

/** The error of a failed operation: `StoreUnavailable` if the database cannot be used, with the explanation as its cause. */
export function storeError(error: unknown, schema: string, subject?: string): Error {
  const explained = explainError(error, schema, subject)
  return isUnusable(error) ? new StoreUnavailable(explained) : explained
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

function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined
}

function isUnusable(error: unknown): boolean {
  const code = sqlState(error)
  if (code === undefined) return !isOwnError(error)
  return unusableClasses.has(code.slice(0, 2)) || code === '42501'
}

function isOwnError(error: unknown): boolean {
  return error instanceof IncompatibleDatabase || error instanceof TypeError
}

const adviceBySqlState: Readonly<Record<string, string>> = {
  '28000': 'may not be used by this user. Check the user and its authentication method (pg_hba.conf)',
  '28P01': 'may not be used: the password is wrong. Check the password of the pool',
  '3D000': 'cannot be used: there is no such database. Create it, or configure another one in the pool',
  '42501':
    'may not be used by this user. Let it create the schema, or create the schema for it and grant it USAGE and CREATE',
  '53100': 'cannot grow: the disk of the server is full. Free some space; what was stored before is safe',
  '53300':
    'cannot be reached: the server has too many connections. Make the pools smaller, or raise its max_connections',
  '25006': 'may only be read: this server is a standby. Connect to the primary',
}

/** The next statement on a broken connection reports the error; an idle one that breaks must not end the process. */
export function ignoreConnectionErrors(pool: PostgresPool): void {
  if (handled.has(pool)) return
  handled.add(pool)
  pool.on('error', () => {})
  pool.on('acquire', (client) => {
    if (handled.has(client)) return
    handled.add(client)
    client.on('error', () => {})
  })
}

const handled = new WeakSet<object>()

interface PendingQuery {
  readonly done: Promise<void>
  readonly finish: () => void
  readonly reject: (error: unknown) => void
}

interface PreparedQuery {
  readonly name: string
  readonly text: string
}

/** Named by a hash of its text, because stores of other schemas and versions may share the connection. */
function namedQuery(text: string): PreparedQuery {
  return { name: `parley_${createHash('sha1').update(text).digest('hex').slice(0, 24)}`, text }
}
