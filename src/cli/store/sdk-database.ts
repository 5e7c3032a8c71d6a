import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Context } from '../command.ts'
import { usageError } from '../errors.ts'
import { engineOf, openDatabase } from './open-store.ts'

/** Rows that are read at once. */
const pageSize = 200

/** A task of `DatabaseTaskStore` of `@a2a-js/sdk/server/database`. */
export interface SdkTask {
  readonly tenant: string
  readonly owner: string
  readonly id: string
  readonly context_id: string
  /** The members of the task in the JSON of A2A 1.0. */
  readonly status: string | null
  readonly artifacts: string | null
  readonly history: string | null
  readonly metadata: string | null
  readonly protocol_version: string | null
}

/** A push configuration of its `DatabasePushNotificationStore`. */
export interface SdkPushConfig {
  readonly tenant: string
  readonly owner: string
  readonly task_id: string
  readonly config_id: string
  /** The other members in the JSON of A2A 1.0, and the version in which it was registered. */
  readonly config_data: string | null
  readonly protocol_version: string | null
}

/** The database of the official SDK. It is only read. */
export interface SdkDatabase {
  tasks(): AsyncGenerator<SdkTask>
  /** Empty if there is no such table. */
  pushConfigs(): AsyncGenerator<SdkPushConfig>
  close(): Promise<void>
}

export interface SdkTables {
  readonly tasks: string
  readonly pushConfigs: string
}

/** Opens the database of the official SDK: `postgres://…`, `mysql://…`, `sqlite:<file>` or a file. */
export async function openSdkDatabase(
  context: Pick<Context, 'output'>,
  reference: string,
  tables: SdkTables,
): Promise<SdkDatabase> {
  for (const table of Object.values(tables)) {
    if (!/^[\w-]+([.][\w-]+)?$/.test(table)) throw usageError(`${table} is not the name of a table.`, 'Check it.')
  }
  const { query, quote, close } = await open(context, reference)

  const exists = async (table: string) => {
    try {
      await query(`SELECT 1 FROM ${quote(table)} WHERE 1 = 0`, [])
      return true
    } catch (error) {
      if (isMissingTable(error)) return false
      throw error
    }
  }

  async function* rowsOf<Row extends object>(table: string, keys: readonly (keyof Row & string)[], rest: string) {
    let after: readonly string[] | undefined
    for (;;) {
      // Not a comparison of rows, for which MySQL reads the whole index.
      const ranges = keys.map((key, index) =>
        [...keys.slice(0, index).map((equal) => `${equal} = ?`), `${key} > ?`].join(' AND '),
      )
      const where = after ? `WHERE (${ranges.join(') OR (')})` : ''
      const values = after ? keys.flatMap((_, index) => (after ?? []).slice(0, index + 1)) : []
      const text = `SELECT ${keys.join(', ')}, ${rest} FROM ${quote(table)} ${where} ORDER BY ${keys.join(', ')} LIMIT ${pageSize}`
      const rows = (await query(text, values)) as readonly Row[]
      yield* rows
      const last = rows.at(-1)
      if (!last || rows.length < pageSize) return
      after = keys.map((key) => `${last[key]}`)
    }
  }

  return {
    async *tasks() {
      if (!(await exists(tables.tasks))) {
        const problem = `The database has no table ${tables.tasks}.`
        throw usageError(problem, 'Check --from, or name the table by --tasks-table.')
      }
      const columns = 'context_id, status, artifacts, history, metadata, protocol_version'
      yield* rowsOf<SdkTask>(tables.tasks, ['tenant', 'owner', 'id'], columns)
    },
    async *pushConfigs() {
      if (!(await exists(tables.pushConfigs))) return
      const keys = ['tenant', 'owner', 'task_id', 'config_id'] as const
      yield* rowsOf<SdkPushConfig>(tables.pushConfigs, keys, 'config_data, protocol_version')
    },
    close,
  }
}

interface Connection {
  /** Runs a statement with the placeholders `?`. */
  readonly query: (text: string, values: readonly string[]) => Promise<readonly unknown[]>
  readonly quote: (table: string) => string
  readonly close: () => Promise<void>
}

async function open(context: Pick<Context, 'output'>, reference: string): Promise<Connection> {
  if (engineOf(reference) === 'sqlite') return openFile(reference.replace(/^sqlite:(\/\/)?/, ''))
  const database = await openDatabase(context, reference)
  const close = () => database.pool.end()
  if (database.type === 'mysql') {
    const { pool } = database
    const query = async (text: string, values: readonly string[]) =>
      (await pool.execute(text, [...values]))[0] as readonly unknown[]
    return { query, quote: (table) => quoted(table, '`'), close }
  }
  const { pool } = database
  async function query(text: string, values: readonly string[]): Promise<readonly unknown[]> {
    let number = 0
    const numbered = text.replace(/\?/g, () => `$${++number}`)
    return (await pool.query({ text: numbered, values: [...values] })).rows
  }
  return { query, quote: (table) => quoted(table, '"'), close }
}

function openFile(path: string): Connection {
  if (!existsSync(resolve(path))) throw usageError(`There is no database ${path}.`, 'Check --from.')
  const db = new DatabaseSync(resolve(path), { readOnly: true })
  return {
    query: async (text, values) => db.prepare(text).all(...values),
    quote: (table) => quoted(table, '"'),
    async close() {
      db.close()
    },
  }
}

function quoted(table: string, mark: string): string {
  return table
    .split('.')
    .map((name) => `${mark}${name}${mark}`)
    .join('.')
}

/** The codes of PostgreSQL and MySQL, and the text of SQLite. */
function isMissingTable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : undefined
  return ['42P01', '3F000', 'ER_NO_SUCH_TABLE'].includes(`${code}`) || /no such table/.test(error.message)
}
