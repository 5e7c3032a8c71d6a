import { createHash } from 'node:crypto'
import { consoleLogger, type Logger } from '../../core/base/logger.ts'
import { having, type OptionCheck } from '../../core/base/options.ts'
import { StoreUnavailable } from '../../core/protocol/errors.ts'
import { importOptional } from '../../core/protocol/lazy-import.ts'
import {
  connectWithin,
  createDatabase,
  type Database,
  IncompatibleDatabase,
  probeTimeout,
  type SqlResult,
  type StoreErrors,
} from '../shared/database.ts'
import { messageOf } from '../shared/outage.ts'
import type { SqlValue } from '../shared/statement.ts'
import { postgresSyntax } from './sql-text.ts'

/** The server is shutting down, crashing or starting up, has too many connections, or has become a standby. */
const transientStates = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25006'])

/**
 * Classes of SQLSTATEs that say that the database cannot be used, rather than that a statement is wrong: connection,
 * read-only transaction, authorization, database, resources, locks, operator, system, corruption.
 */
const unusableClasses = new Set(['08', '25', '28', '3D', '53', '55', '57', '58', 'XX'])

/** Whether a concurrent transaction made the statement fail without effect: a retry sees the result of the other one. */
function isConflict(error: unknown): boolean {
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
  /** The number of rows that the statement returned or changed. */
  readonly rowCount?: number | null
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
  /** Whether statements are prepared once per connection. Defaults to true. */
  readonly prepare?: boolean | undefined
  /** Runs a statement on a held connection, if one is idle. */
  readonly queryHeld?: HeldConnection['query']
  /** What the database stores, for error messages. Defaults to "The task log". */
  readonly subject?: string
  /** Receives warnings about an unreachable database. Defaults to the console. */
  readonly logger?: Logger
}

export function createPostgresDatabase(options: DatabaseOptions): Database {
  const { pool, schema, statementTimeout, patience, closed, queryHeld, prepare, logger = consoleLogger } = options
  const subject = subjectIn(schema, options.subject)
  const errors: StoreErrors = { isDisconnected, isConflict, explain: (error) => storeError(error, subject) }

  return createDatabase({
    subject,
    errors,
    syntax: postgresSyntax,
    statementTimeout,
    patience,
    closed,
    logger,
    name: (table) => `"${schema}".${table}`,
    compile: prepare === false ? (text) => ({ text }) : namedQuery,
    query: async (prepared, values) =>
      resultOf(await pool.query({ ...prepared, values, query_timeout: statementTimeout })),
    queryUrgent: (prepared, values) => queryHeld?.({ ...prepared, values })?.then(resultOf),
    probe: () => pool.query({ text: 'SELECT 1', query_timeout: probeTimeout }),
    async transaction(work) {
      const client = await connectWithin(statementTimeout, pool.connect(), (late) => late.release())
      const run = async (text: string, values: SqlValue[] = []) =>
        resultOf(await client.query({ text, values, query_timeout: statementTimeout }))
      let isBroken = true
      try {
        await run('BEGIN')
        const result = await work(run)
        await run('COMMIT')
        isBroken = false
        return result
      } finally {
        client.release(isBroken) // closing the connection rolls back
      }
    },
  })
}

function resultOf({ rows, rowCount }: PostgresResult): SqlResult {
  return { rows, changed: rowCount ?? rows.length }
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

/** A store of a schema, for error messages. */
export function subjectIn(schema: string, subject = 'The task log'): string {
  return `${subject} in schema ${schema} of PostgreSQL`
}

/** An error for the operator: what is wrong, what to do. It contains neither address nor password. */
function storeError(error: unknown, subject: string): Error {
  const advice = adviceBySqlState[sqlState(error) ?? '']
  const explained = new Error(`${subject} ${advice ?? 'cannot be used'}: ${messageOf(error)}`, { cause: error })
  return isUnusable(error) ? new StoreUnavailable(explained) : explained
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

const unprepared =
  'a pooler between this process and the server mixes up prepared statements. Set prepare: false behind PgBouncer in ' +
  'transaction mode'

const adviceBySqlState: Readonly<Record<string, string>> = {
  '28000': 'may not be used by this user. Check the user and its authentication method (pg_hba.conf)',
  '28P01': 'may not be used: the password is wrong. Check the password of the pool',
  '3D000': 'cannot be used: there is no such database. Create it, or configure another one in the pool',
  '42501':
    'may not be used by this user. Let it create the schema, or create the schema for it and grant it USAGE and CREATE',
  '53100': 'cannot grow: the disk of the server is full. Free some space; what was stored before is safe',
  '53300':
    'cannot be reached: the server has too many connections. Make the pools smaller, or raise its max_connections',
  '26000': `cannot be used: ${unprepared}`,
  '42P05': `cannot be used: ${unprepared}`,
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
  /** Undefined if it is parsed each time. */
  readonly name?: string
  readonly text: string
}

/** Named by a hash of its text, because stores of other schemas and versions may share the connection. */
function namedQuery(text: string): PreparedQuery {
  return { name: `parley_${createHash('sha1').update(text).digest('hex').slice(0, 24)}`, text }
}
