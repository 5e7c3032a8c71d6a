import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { delayAfter } from '../../base/backoff.ts'

const delays = { minDelay: 20, maxDelay: 1_000 }

/** Shutting down, crashing, starting up; too many connections; a server that has become a standby. */
const passing = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25006'])

/** Somebody else was in the way and the statement did nothing: the next try sees what the other did. */
export function isCollision(error: unknown): boolean {
  return ['23505', '40001', '40P01'].includes(sqlState(error) ?? '')
}

export type PostgresValue = string | number | boolean | null

export interface PostgresStatement {
  /** What has a name is parsed once for each connection. */
  readonly name?: string
  readonly text: string
  readonly values?: PostgresValue[]
  /** Milliseconds after which the connection is given up. */
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
  /** That it is open shall not keep the process alive, or, with `ref`, shall do so again. */
  unref?(): void
  ref?(): void
  /** Gives it back to its pool, or, with `true`, closes it. */
  release(destroy?: boolean): void
}

export interface LineOptions {
  readonly client: PostgresClient
  /** Milliseconds after which nobody waits for an answer any more. */
  readonly timeout: number
  /** No answer came, or the connection broke: nothing more can be asked over it. */
  readonly onBroken: () => void
}

/** A connection that is held, and over which one statement at a time is asked. */
export interface HeldConnection {
  /** Undefined while somebody else asks. */
  ask(statement: PostgresStatement): Promise<PostgresResult> | undefined
  /** Resolves when nothing is under way. */
  settled(): Promise<void>
  close(): void
}

export function createHeldConnection({ client, timeout, onBroken }: LineOptions): HeldConnection {
  let current: Asking | undefined
  // One for all, because making one for each takes longer than the rest of asking.
  const silence = setTimeout(() => fail(new Error(`no answer within ${timeout} ms`)), timeout).unref()
  client.unref?.() // Who only listens has nothing more to do.

  function finish(): Asking | undefined {
    const finished = current
    current = undefined
    client.unref?.()
    finished?.settle()
    return finished
  }

  function fail(error: unknown) {
    if (!current) return
    finish()?.reject(error)
    if (isDisconnected(error)) onBroken()
  }

  return {
    ask(statement) {
      if (current) return undefined
      const { promise: settled, resolve: settle } = Promise.withResolvers<void>()
      return new Promise((resolve, reject) => {
        current = { settled, settle, reject }
        silence.refresh()
        client.ref?.()
        client.query(statement).then((result) => {
          finish()
          resolve(result)
        }, fail)
      })
    },
    settled: () => current?.settled ?? Promise.resolve(),
    close() {
      clearTimeout(silence)
      fail(new Error('the connection was given up'))
    },
  }
}

/** As much of a PostgreSQL driver as is used here. A `Pool` of the package `pg` fits; it stays its maker's to end. */
export interface PostgresPool {
  query(statement: PostgresStatement): Promise<PostgresResult>
  connect(): Promise<PostgresClient>
  /** Connections break also while nobody uses them, and Node ends a process in which nobody listens to that. */
  on(event: 'error', listener: (error: Error) => void): unknown
  /** The same for one that somebody has just taken. */
  on(event: 'acquire', listener: (client: Pick<PostgresClient, 'on'>) => void): unknown
}

export interface DatabaseOptions {
  readonly pool: PostgresPool
  readonly schema: string
  /** How long one statement may take, and how long to wait for the database to come back, in milliseconds. */
  readonly statementTimeout: number
  readonly patience: number
  readonly closed: AbortSignal
  /** The short way, if there is one. */
  readonly nearby?: HeldConnection['ask']
  /** What is kept in it, as errors call it. The task log by default. */
  readonly what?: string
}

/** Asks once. If it rejects because the connection broke, the statement may have been done or not. */
export type Query<Row> = (...values: PostgresValue[]) => Promise<readonly Row[]>

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

export type Ask = <Row>(text: string, ...values: PostgresValue[]) => Promise<readonly Row[]>

/** Does all of the work on one connection, or nothing. */
export async function inTransaction<T>(
  pool: PostgresPool,
  timeout: number,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  const connecting = pool.connect()
  const client = await within(timeout, connecting).catch((error) => {
    connecting.then((late) => late.release()).catch(() => {})
    throw error
  })
  const ask: Ask = async <Row>(text: string, ...values: PostgresValue[]) =>
    (await client.query({ text, values, query_timeout: timeout })).rows as Row[]
  let isBroken = true
  try {
    await ask('BEGIN')
    const result = await work(ask)
    await ask('COMMIT')
    isBroken = false
    return result
  } finally {
    client.release(isBroken) // what is closed is rolled back
  }
}

/** The connection broke or the server is not ready: what was asked may have been done or not. */
export function isDisconnected(error: unknown): boolean {
  const code = sqlState(error)
  // What does not come from the server comes from the way to it, unless somebody has ended the pool.
  if (code === undefined) return !isOurs(error) && !/after calling end/.test(messageOf(error))
  return code.startsWith('08') || passing.has(code)
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

/** An error for the operator's log: what is wrong, what to do. It tells neither address nor password. */
export function explainTrouble(error: unknown, schema: string, what = 'The task log'): Error {
  const advice = advices[sqlState(error) ?? '']
  const where = `${what} in schema ${schema} of PostgreSQL`
  return new Error(`${where} ${advice ?? 'cannot be used'}: ${messageOf(error)}`, { cause: error })
}

/** Waits longer after every failure, and not all in step. */
export interface Backoff {
  wait(): Promise<void>
  reset(): void
}

export function createBackoff(signal: AbortSignal): Backoff {
  let failures = 0
  return {
    async wait() {
      await sleep(delayAfter(++failures, delays), undefined, { signal, ref: false }).catch(() => {})
    },
    reset() {
      failures = 0
    },
  }
}

/** What is there is not what this version can work with; trying again does not help. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
}

function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined
}

function isOurs(error: unknown): boolean {
  return error instanceof Mismatch || error instanceof TypeError
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Errors that are several in one, as when no address of a name answers, have a code and no message.
  return error.message || ('code' in error ? String(error.code) : error.name)
}

const advices: Readonly<Record<string, string>> = {
  '28000': 'may not be used by this user. Check the user and how it has to authenticate (pg_hba.conf)',
  '28P01': 'may not be used: the password is wrong. Check the password of the pool',
  '3D000': 'cannot be used: there is no such database. Create it, or name another one in the pool',
  '42501':
    'may not be used by this user. Let it create the schema, or create the schema for it and grant it USAGE and CREATE',
  '53100': 'cannot grow: the disk of the server is full. Free some space; what was stored before is safe',
  '53300':
    'cannot be reached: the server has too many connections. Make the pools smaller, or raise its max_connections',
  '25006': 'may only be read: this server is a standby. Connect to the primary',
}

interface Asking {
  readonly settled: Promise<void>
  readonly settle: () => void
  readonly reject: (error: unknown) => void
}

interface PreparedQuery {
  readonly name: string
  readonly text: string
}

/** Stores of other schemas, and other versions of this one, may share the connection. */
function nameOf(text: string): PreparedQuery {
  return { name: `parley_${createHash('sha1').update(text).digest('hex').slice(0, 24)}`, text }
}
