import { consoleLogger, type Logger } from '../../core/base/logger.ts'
import { having, type OptionCheck } from '../../core/base/options.ts'
import { A2AError, StoreUnavailable } from '../../core/protocol/errors.ts'
import {
  connectWithin,
  createDatabase,
  type Database,
  IncompatibleDatabase,
  probeTimeout,
  type SqlResult,
  type StoreErrors,
  withTimeout,
} from '../shared/database.ts'
import { messageOf } from '../shared/outage.ts'
import type { SqlValue } from '../shared/statement.ts'
import { mysqlSyntax } from './sql-text.ts'

/** Runs statements: a connection or a pool of the package `mysql2`. */
interface MysqlRunner {
  /** Runs a statement that is prepared once per connection. */
  execute(text: string, values: MysqlValue[]): Promise<[unknown, ...unknown[]]>
  query(text: string): Promise<[unknown, ...unknown[]]>
}

type MysqlValue = string | number | null

type RunTransactionQuery = (text: string, values: SqlValue[]) => Promise<SqlResult>

/** The number of the error that ends one of several transactions that wait for each other. */
const deadlock = 1213

/** How often a statement or transaction is tried that ends in a deadlock. */
const maxAttempts = 5

export interface MysqlConnection extends MysqlRunner {
  release(): void
  /** Closes the connection. */
  destroy(): void
}

/** The part of a MySQL driver that the stores use. A pool of `mysql2/promise` implements it. Stores never end it. */
export interface MysqlPool extends MysqlRunner {
  getConnection(): Promise<MysqlConnection>
}

export const poolCheck: OptionCheck = having('a pool of mysql2/promise', 'execute', 'getConnection')

export interface DatabaseOptions {
  readonly pool: MysqlPool
  readonly prefix: string
  readonly statementTimeout: number
  readonly patience: number
  readonly closed: AbortSignal
  /** What the database stores, for error messages. Defaults to "The task log". */
  readonly subject?: string
  readonly logger?: Logger
}

export function createMysqlDatabase(options: DatabaseOptions): Database {
  const { pool, prefix, statementTimeout, patience, closed, logger = consoleLogger } = options
  const subject = subjectIn(prefix, options.subject)
  const errors: StoreErrors = { isDisconnected, isConflict, explain: (error) => storeError(error, subject) }

  return createDatabase({
    subject,
    errors,
    syntax: mysqlSyntax,
    statementTimeout,
    patience,
    closed,
    logger,
    name: (table) => `${prefix}${table}`,
    compile,
    query: (prepared, values) => repeatDeadlocks(() => run(pool, prepared, values)),
    probe: () => withTimeout(probeTimeout, pool.query('SELECT 1')),
    transaction: (work) => repeatDeadlocks(() => runTransaction(work)),
  })

  async function runTransaction<T>(work: (query: RunTransactionQuery) => Promise<T>): Promise<T> {
    const connection = await connectWithin(statementTimeout, pool.getConnection(), (late) => late.release())
    const bounded = <R>(running: Promise<R>) => withTimeout(statementTimeout, running)
    try {
      // Not REPEATABLE READ: its locks on gaps would make new tasks wait for each other.
      await bounded(connection.query('SET TRANSACTION ISOLATION LEVEL READ COMMITTED'))
      await bounded(connection.query('START TRANSACTION'))
      const result = await work((text, values) => bounded(run(connection, compile(text), values)))
      await bounded(connection.query('COMMIT'))
      connection.release()
      return result
    } catch (error) {
      await giveBack(connection, error)
      throw error
    }
  }
}

/** The server rolls back one of several transactions, or single statements, that wait for each other. */
async function repeatDeadlocks<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (serverError(error) !== deadlock || attempt === maxAttempts) throw error
    }
  }
}

/** Closing a broken connection rolls back. */
async function giveBack(connection: MysqlConnection, error: unknown): Promise<void> {
  if (isDisconnected(error)) {
    connection.destroy()
    return
  }
  await withTimeout(probeTimeout, connection.query('ROLLBACK')).then(
    () => connection.release(),
    () => connection.destroy(),
  )
}

interface CompiledText {
  readonly text: string
  /** For each `?`, the number of its value. */
  readonly order: readonly { readonly index: number; readonly isLimit: boolean }[]
}

/** MySQL has no numbered placeholders, and accepts no floating-point number as a limit. */
function compile(text: string): CompiledText {
  const order: { index: number; isLimit: boolean }[] = []
  const compiled = text.replace(/(LIMIT )?\$(\d+)/g, (_, limit: string | undefined, number: string) => {
    order.push({ index: Number(number) - 1, isLimit: limit !== undefined })
    return `${limit ?? ''}?`
  })
  return { text: compiled, order }
}

async function run(runner: MysqlRunner, { text, order }: CompiledText, values: SqlValue[]): Promise<SqlResult> {
  const ordered = order.map(({ index, isLimit }): MysqlValue => {
    const value = values[index] ?? null
    if (isLimit) return String(value)
    return typeof value === 'boolean' ? Number(value) : value
  })
  const [result] = await runner.execute(text, ordered)
  if (Array.isArray(result)) return { rows: result, changed: 0 }
  return { rows: [], changed: (result as { readonly affectedRows?: number }).affectedRows ?? 0 }
}

/** A store whose tables have this prefix, for error messages. */
export function subjectIn(prefix: string, subject = 'The task log'): string {
  return `${subject} in tables ${prefix}* of MySQL`
}

/**
 * Errors of a server that is shutting down, has too many connections, is read-only, or has ended the connection. Their
 * numbers are those of MySQL and MariaDB.
 */
const transientErrors = new Set([1040, 1053, 1077, 1152, 1158, 1159, 1160, 1161, 1203, 1290, 1836, 1927, 3169])

/** A duplicate key, a changed record, a lock that took too long, a deadlock. */
const conflicts = new Set([1062, 1020, 1205, deadlock])

function isDisconnected(error: unknown): boolean {
  const number = serverError(error)
  if (number !== undefined) return transientErrors.has(number)
  // An error that does not come from the server is a connection error, unless the application ended the pool.
  return !isOwnError(error) && !/pool is closed/i.test(messageOf(error))
}

function isConflict(error: unknown): boolean {
  return conflicts.has(serverError(error) ?? 0)
}

/** Classes of SQLSTATEs that say that the database cannot be used: connection, authorization. */
function isUnusable(error: unknown): boolean {
  const number = serverError(error)
  if (number === undefined) return !isOwnError(error)
  return transientErrors.has(number) || number in advice
}

function isOwnError(error: unknown): boolean {
  return error instanceof IncompatibleDatabase || error instanceof TypeError || error instanceof A2AError
}

/** The number of an error of the server. Undefined if the error comes from elsewhere. */
function serverError(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('sqlState' in error) || !('errno' in error)) return undefined
  return typeof error.errno === 'number' && error.errno >= 1000 ? error.errno : undefined
}

/** An error for the operator: what is wrong, what to do. It contains neither address nor password. */
function storeError(error: unknown, subject: string): Error {
  if (error instanceof A2AError) return error
  const sentence = advice[serverError(error) ?? 0] ?? 'cannot be used'
  const explained = new Error(`${subject} ${sentence}: ${messageOf(error)}`, { cause: error })
  return isUnusable(error) ? new StoreUnavailable(explained) : explained
}

const advice: Readonly<Record<number, string>> = {
  1021: 'cannot grow: the disk of the server is full. Free some space; what was stored before is safe',
  1040: 'cannot be reached: the server has too many connections. Make the pools smaller, or raise its max_connections',
  1044: 'may not be used by this user. Grant it all rights on the database of the pool',
  1045: 'may not be used: the user or its password is wrong. Check them in the pool',
  1046: 'cannot be used: no database is selected. Name one in the pool',
  1049: 'cannot be used: there is no such database. Create it, or configure another one in the pool',
  1114: 'cannot grow: the disk of the server is full. Free some space; what was stored before is safe',
  1142: 'may not be used by this user. Grant it all rights on the database of the pool',
  1153: 'cannot store a value that is larger than max_allowed_packet of the server. Raise that setting',
  1290: 'may only be read: this server is a replica. Connect to the primary',
  1836: 'may only be read: this server is a replica. Connect to the primary',
}
