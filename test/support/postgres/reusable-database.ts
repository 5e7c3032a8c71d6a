import pg from 'pg'
import { afterAll } from 'vitest'
import { createPostgresLog } from '../../../src/entries/postgres.ts'
import { createDatabase } from './database.ts'

/** A migrated database without data. Tests of migrations need `createDatabase` instead. */
export interface ReusableDatabase {
  readonly url: string
  /** Removes all data and leaves the database to the next test. The caller has closed its connections. */
  release(): Promise<void>
}

/** Databases that no test uses at the moment. Emptying one is about fifty times faster than creating and migrating one. */
const free: ReusableDatabase[] = []
const closing: (() => Promise<void>)[] = []

afterAll(async () => {
  for (const close of closing.splice(0)) await close()
  free.length = 0
})

export async function takeDatabase(): Promise<ReusableDatabase> {
  return free.pop() ?? (await prepareDatabase())
}

async function prepareDatabase(): Promise<ReusableDatabase> {
  const { url, drop } = await createDatabase()
  const client = new pg.Client(url)
  await client.connect()
  closing.push(async () => {
    await client.end()
    await drop()
  })
  await migrate(url)
  const reset = await resetStatements(client)
  const database = {
    url,
    async release() {
      await client.query(reset)
      free.push(database)
    },
  }
  return database
}

async function migrate(url: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: url })
  const log = await createPostgresLog({ pool })
  await log.close()
  await pool.end()
}

/** Empties every table, and restores the rows that the migrations have inserted. */
async function resetStatements(client: pg.Client): Promise<string> {
  // Last the table that triggers write when tasks are removed.
  const { rows } = await client.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables WHERE schemaname = 'parley' AND tablename <> 'format'
     ORDER BY tablename = 'task_counts'`,
  )
  await client.query('CREATE SCHEMA migrated')
  const statements: string[] = []
  for (const { name } of rows) {
    statements.push(`DELETE FROM parley.${name}`)
    if ((await client.query(`SELECT 1 FROM parley.${name} LIMIT 1`)).rows.length === 0) continue
    await client.query(`CREATE TABLE migrated.${name} AS TABLE parley.${name}`)
    statements.push(`INSERT INTO parley.${name} TABLE migrated.${name}`)
  }
  return statements.join(';')
}
