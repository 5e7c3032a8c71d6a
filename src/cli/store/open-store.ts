import { existsSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { defined } from '../../core/base/json.ts'
import { A2AError, operatorError } from '../../core/protocol/errors.ts'
import type { PostgresLog, PostgresPool } from '../../entries/postgres.ts'
import type { LogAdmin, SqliteLog } from '../../entries/sqlite.ts'
import type { Context, Option, Positional } from '../command.ts'
import { CliError, usageError } from '../errors.ts'

/** The environment variable that also names the database of `serve`. */
const databaseVariable = 'PARLEY_DATABASE_URL'

export const storePositional: Positional = {
  name: 'log',
  summary: `The task log: a SQLite file, or postgres://… Defaults to ${databaseVariable}, which keeps the password out of the process list.`,
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
}

/** The task log that a command is about. */
export type Store =
  | { readonly type: 'sqlite'; readonly file: string }
  | { readonly type: 'postgres'; readonly url: string; readonly schema: string; readonly pool: OwnedPool }

interface OwnedPool extends PostgresPool {
  end(): Promise<void>
}

/** Finds the task log of a command and runs `work` with it. Nothing is created or migrated. */
export async function withStore<T>(context: Context, work: (store: Store) => Promise<T>): Promise<T> {
  const { positionals, output } = context
  const reference = positionals[0] ?? process.env[databaseVariable]
  if (reference === undefined) {
    throw usageError('Which task log? Pass a SQLite file, or the URL of a PostgreSQL.', `Or set ${databaseVariable}.`)
  }
  if (!/^postgres(ql)?:/i.test(reference)) return await explained(() => work(sqliteStore(reference)))
  if (!URL.canParse(reference))
    throw usageError('The URL of the database is not valid.', 'Write postgres://user@host/db.')
  output.hide(decodeURIComponent(new URL(reference).password))
  const pool = await openPool(reference)
  try {
    return await explained(async () => {
      const schema = context.settings.text('schema') ?? (await findSchema(pool))
      return await work({ type: 'postgres', url: reference, schema, pool })
    })
  } finally {
    await pool.end()
  }
}

/** The functions for operators, which do not migrate the log. */
export async function openAdmin(store: Store): Promise<LogAdmin> {
  if (store.type === 'sqlite') {
    return (await import('../../entries/sqlite.ts')).createSqliteAdmin({ file: store.file })
  }
  const { pool, schema } = store
  return (await import('../../entries/postgres.ts')).createPostgresAdmin({ pool, schema })
}

/** Opens the log itself, which migrates it. */
export async function openLog(store: Store): Promise<SqliteLog | PostgresLog> {
  if (store.type === 'sqlite') return (await import('../../entries/sqlite.ts')).createSqliteLog({ file: store.file })
  const { pool, schema } = store
  return await (await import('../../entries/postgres.ts')).createPostgresLog({ pool, schema })
}

function sqliteStore(path: string): Store {
  const file = resolve(path)
  if (!existsSync(file))
    throw usageError(`There is no task log ${path}.`, 'Check the path. Agents keep theirs in .parley.')
  if (!statSync(file).isDirectory()) return { type: 'sqlite', file }
  const logs = readdirSync(file).filter((name) => name.endsWith('.db'))
  const advice = logs.length === 0 ? 'It has no task logs.' : `Name one of its logs: ${logs.join(', ')}.`
  throw usageError(`${path} is a folder.`, advice)
}

/** `pg` is installed beside the agent, and not necessarily beside this program. */
async function openPool(connectionString: string): Promise<OwnedPool> {
  const load = async () => {
    try {
      return await import('pg')
    } catch {
      const path = createRequire(join(process.cwd(), 'package.json')).resolve('pg')
      return (await import(pathToFileURL(path).href)) as typeof import('pg')
    }
  }
  const pg = await load().catch((cause) => {
    const hint = 'Install it where you run the command: npm install pg.'
    throw new CliError('A2ACLI_ERR_USAGE', 'PostgreSQL needs the package pg, which is not installed.', { hint, cause })
  })
  const pool = new pg.default.Pool({ connectionString, application_name: 'parley', connectionTimeoutMillis: 10_000 })
  pool.on('error', () => {})
  return pool
}

async function findSchema(pool: OwnedPool): Promise<string> {
  const { rows } = await pool.query({
    text: `SELECT table_schema AS name FROM information_schema.tables WHERE table_name IN ('tasks', 'events', 'claims')
     GROUP BY table_schema HAVING count(*) = 3 ORDER BY table_schema`,
  })
  const names = (rows as readonly { readonly name: string }[]).map(({ name }) => name)
  const [only] = names
  if (only !== undefined && names.length === 1) return only
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
