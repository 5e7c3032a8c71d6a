import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Kysely, MysqlDialect, PostgresDialect, type SqliteDatabase, SqliteDialect } from 'kysely'
import { createPool } from 'mysql2'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { createMariadbDatabase } from '../mariadb/database.ts'
import { createDatabase } from '../postgres/database.ts'
import { temporaryDirectory } from '../temporary-directory.ts'

/** A database with the tables of the official SDK, made by its own migrations. */
export interface SdkTestDatabase {
  readonly db: Kysely<unknown>
  /** The value of `--from`. */
  readonly reference: string
  /** An empty place for a task log, and the options that name it. */
  readonly target: readonly string[]
}

export async function openSdkSqlite(): Promise<SdkTestDatabase> {
  const directory = await temporaryDirectory()
  const file = join(directory, 'a2a.db')
  const database = new DatabaseSync(file)
  for (const statement of await sdkSchema('sqlite')) database.exec(statement)
  const db = new Kysely<unknown>({ dialect: new SqliteDialect({ database: likeBetterSqlite(database) }) })
  onTestFinished(() => db.destroy())
  return { db, reference: `sqlite:${file}`, target: [join(directory, 'made', 'log.db')] }
}

export async function openSdkPostgres(): Promise<SdkTestDatabase> {
  const { url, drop } = await createDatabase()
  const pool = new pg.Pool({ connectionString: url })
  for (const statement of await sdkSchema('postgres')) await pool.query(statement)
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) })
  onTestFinished(async () => {
    await db.destroy()
    await drop()
  })
  return { db, reference: url, target: [url, '--schema', 'copied'] }
}

export async function openSdkMysql(): Promise<SdkTestDatabase> {
  const { url } = await createMariadbDatabase()
  const pool = createPool(url)
  // MariaDB 10.11 has another name for this collation of MySQL 8.
  for (const statement of await sdkSchema('mysql')) {
    await pool.promise().query(statement.replaceAll('utf8mb4_0900_bin', 'utf8mb4_bin'))
  }
  const db = new Kysely<unknown>({ dialect: new MysqlDialect({ pool }) })
  onTestFinished(() => db.destroy())
  return { db, reference: url, target: [url, '--prefix', 'copied_'] }
}

const sdkTool = fileURLToPath(new URL('../../../node_modules/@a2a-js/sdk/dist/cli/a2a_db.js', import.meta.url))

/** The statements by which the SDK creates its tables. */
async function sdkSchema(dialect: string): Promise<readonly string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [sdkTool, 'upgrade', '--sql', '--dialect', dialect])
  return stdout
    .replace(/^--.*$/gm, '')
    .split(/;\s*$/m)
    .filter((statement) => statement.trim() !== '')
}

/** The part of `better-sqlite3` that the query builder of the SDK uses. */
function likeBetterSqlite(database: DatabaseSync): SqliteDatabase {
  return {
    close: () => database.close(),
    prepare(sql) {
      const statement = database.prepare(sql)
      const values = (parameters: readonly unknown[]) => parameters as SQLInputValue[]
      return {
        reader: /^select|returning/i.test(sql.trim()),
        all: (parameters) => statement.all(...values(parameters)),
        run: (parameters) => statement.run(...values(parameters)),
        iterate: (parameters) => statement.iterate(...values(parameters)),
      }
    },
  }
}
