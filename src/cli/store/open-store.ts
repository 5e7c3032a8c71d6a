import { existsSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defined } from '../../core/base/json.ts'
import { A2AError, operatorError } from '../../core/protocol/errors.ts'
import type { MysqlLog, MysqlPool } from '../../entries/mysql.ts'
import type { PostgresLog, PostgresPool } from '../../entries/postgres.ts'
import type { LogAdmin, SqliteLog } from '../../entries/sqlite.ts'
import type { Context, Option, Positional } from '../command.ts'
import { CliError, usageError } from '../errors.ts'

/** The environment variable that also names the database of `serve`. */
const databaseVariable = 'PARLEY_DATABASE_URL'

export const storePositional: Positional = {
  name: 'log',
  summary: `The task log: a SQLite file, postgres://… or mysql://… Defaults to ${databaseVariable}, which keeps the password out of the process list.`,
  optional: true,
  complete: 'file',
}

export const storeOptions: Readonly<Record<string, Option>> = {
  schema: {
    type: 'text',
    value: 'name',
    summary: 'The schema of the log in PostgreSQL.',
    default: 'the only one with a log',
  },
  prefix: {
    type: 'text',
    value: 'name',
    summary: 'How the names of the tables of the log begin in MySQL.',
    default: 'parley_',
  },
}

/** The task log that a command is about. */
export type Store =
  | { readonly type: 'sqlite'; readonly file: string }
  | { readonly type: 'postgres'; readonly url: string; readonly schema: string; readonly pool: PostgresPool }
  | { readonly type: 'mysql'; readonly prefix: string; readonly pool: MysqlPool }

type Owned<Pool> = Pool & { end(): Promise<void> }

export interface WithStoreOptions {
  /** Whether the log may be missing: its place is where a log will be created. */
  readonly mayBeMissing?: boolean
}

/** Finds the task log of a command and runs `work` with it. Nothing is created or migrated. */
export async function withStore<T>(
  context: Context,
  work: (store: Store) => Promise<T>,
  { mayBeMissing = false }: WithStoreOptions = {},
): Promise<T> {
  const { positionals, settings } = context
  const reference = positionals[0] ?? process.env[databaseVariable]
  if (reference === undefined) {
    throw usageError(
      'Which task log? Pass a SQLite file, or the URL of a PostgreSQL or MySQL database.',
      `Or set ${databaseVariable}.`,
    )
  }
  const engine = engineOf(reference)
  if (engine === 'sqlite') return await explained(() => work(sqliteStore(reference, mayBeMissing)))
  const database = await openDatabase(context, reference)
  try {
    return await explained(async () => {
      if (database.type === 'mysql') {
        const { pool } = database
        return await work({ type: 'mysql', prefix: settings.text('prefix') ?? 'parley_', pool })
      }
      const { pool } = database
      const schema = settings.text('schema') ?? (await findSchema(pool, mayBeMissing))
      return await work({ type: 'postgres', url: reference, schema, pool })
    })
  } finally {
    await database.pool.end()
  }
}

/** The engine of a database, by its URL. Everything else is the path of a SQLite file. */
export function engineOf(reference: string): Store['type'] {
  if (/^postgres(ql)?:/i.test(reference)) return 'postgres'
  return /^mysql:/i.test(reference) ? 'mysql' : 'sqlite'
}

export type ServerDatabase =
  | { readonly type: 'postgres'; readonly pool: Owned<PostgresPool> }
  | { readonly type: 'mysql'; readonly pool: Owned<MysqlPool> }

/** Opens a pool on the database of a URL, whose password is never shown. The caller ends it. */
export async function openDatabase({ output }: Pick<Context, 'output'>, url: string): Promise<ServerDatabase> {
  if (!URL.canParse(url)) throw usageError('The URL of the database is not valid.', 'Write postgres://user@host/db.')
  output.hide(decodeURIComponent(new URL(url).password))
  return engineOf(url) === 'mysql'
    ? { type: 'mysql', pool: await openMysqlPool(url) }
    : { type: 'postgres', pool: await openPostgresPool(url) }
}

/** The functions for operators, which do not migrate the log. */
export async function openAdmin(store: Store): Promise<LogAdmin> {
  if (store.type === 'sqlite') {
    return (await import('../../entries/sqlite.ts')).createSqliteAdmin({ file: store.file })
  }
  if (store.type === 'mysql')
    return (await import('../../entries/mysql.ts')).createMysqlAdmin({ pool: store.pool, prefix: store.prefix })
  const { pool, schema } = store
  return (await import('../../entries/postgres.ts')).createPostgresAdmin({ pool, schema })
}

/** Opens the log itself, which migrates it. */
export async function openLog(store: Store): Promise<SqliteLog | PostgresLog | MysqlLog> {
  if (store.type === 'sqlite') return (await import('../../entries/sqlite.ts')).createSqliteLog({ file: store.file })
  if (store.type === 'mysql') {
    return await (await import('../../entries/mysql.ts')).createMysqlLog({ pool: store.pool, prefix: store.prefix })
  }
  const { pool, schema } = store
  return await (await import('../../entries/postgres.ts')).createPostgresLog({ pool, schema })
}

function sqliteStore(path: string, mayBeMissing: boolean): Store {
  const file = resolve(path)
  if (!existsSync(file) && mayBeMissing) return { type: 'sqlite', file }
  if (!existsSync(file))
    throw usageError(`There is no task log ${path}.`, 'Check the path. Agents keep theirs in .parley.')
  if (!statSync(file).isDirectory()) return { type: 'sqlite', file }
  const logs = readdirSync(file).filter((name) => name.endsWith('.db'))
  const advice = logs.length === 0 ? 'It has no task logs.' : `Name one of its logs: ${logs.join(', ')}.`
  throw usageError(`${path} is a folder.`, advice)
}

async function openPostgresPool(connectionString: string): Promise<Owned<PostgresPool>> {
  const pg = await importBeside('pg', 'PostgreSQL', () => import('pg'))
  const pool = new pg.default.Pool({ connectionString, application_name: 'parley', connectionTimeoutMillis: 10_000 })
  pool.on('error', () => {})
  return pool
}

async function openMysqlPool(uri: string): Promise<Owned<MysqlPool>> {
  const mysql = await importBeside('mysql2/promise', 'MySQL', () => import('mysql2/promise'))
  return mysql.createPool({ uri, connectTimeout: 10_000 })
}

/** A driver is installed beside the agent, and not necessarily beside this program. */
async function importBeside<Module>(name: string, engine: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch {
    try {
      const path = createRequire(join(process.cwd(), 'package.json')).resolve(name)
      return (await import(pathToFileURL(path).href)) as Module
    } catch (cause) {
      const [driver] = name.split('/')
      const hint = `Install it where you run the command: npm install ${driver}.`
      throw new CliError('A2ACLI_ERR_USAGE', `${engine} needs the package ${driver}, which is not installed.`, {
        hint,
        cause,
      })
    }
  }
}

async function findSchema(pool: PostgresPool, mayBeMissing: boolean): Promise<string> {
  const { rows } = await pool.query({
    text: `SELECT table_schema AS name FROM information_schema.tables WHERE table_name IN ('tasks', 'events', 'claims')
     GROUP BY table_schema HAVING count(*) = 3 ORDER BY table_schema`,
  })
  const names = (rows as readonly { readonly name: string }[]).map(({ name }) => name)
  const [only] = names
  if (only !== undefined && names.length === 1) return only
  if (only === undefined && mayBeMissing) return 'parley'
  if (only === undefined) throw usageError('The database has no task log.', 'Check the URL, or pass --schema.')
  throw usageError(`The database has several task logs: ${names.join(', ')}.`, 'Choose one by --schema.')
}

/** The failures of stores are for operators, and this is one. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof CliError) throw error
    const cause = operatorError(error)
    const message = messageOf(cause)
    const isUnreachable =
      (error instanceof A2AError && error.code === 'unavailable') || /ECONN|ENOTFOUND|EAI_AGAIN|timeout/i.test(message)
    const hint = isUnreachable ? 'Check the address and whether the database runs.' : undefined
    throw new CliError(isUnreachable ? 'A2ACLI_ERR_UNREACHABLE' : 'A2ACLI_ERR_INTERNAL', message, {
      cause,
      ...defined({ hint }),
    })
  }
}

/** Node joins the failures of all addresses of a host, without a message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return messageOf(error.errors[0])
  return error instanceof Error ? error.message : `${error}`
}
