import pg from 'pg'
import { onTestFinished } from 'vitest'
import { createDatabase } from './database.ts'
import { takeDatabase } from './reusable-database.ts'

/** A pool on a new, empty database. Both are removed after the test. */
export async function openPool(options: pg.PoolConfig = {}): Promise<pg.Pool> {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url, ...options })
  pool.on('error', () => {}) // The database may be dropped before the connections close.
  onTestFinished(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

/** A pool on a migrated database without data, which the next test reuses. */
export async function openMigratedPool(): Promise<pg.Pool> {
  const database = await takeDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  onTestFinished(async () => {
    await pool.end()
    await database.release()
  })
  return pool
}

/** Another pool on the same database, like that of another replica. */
export function secondPool({ options }: pg.Pool): pg.Pool {
  const pool = new pg.Pool({ ...options })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}
