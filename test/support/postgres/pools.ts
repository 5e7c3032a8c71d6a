import pg from 'pg'
import { onTestFinished } from 'vitest'
import { createDatabase } from './database.ts'

/** A pool on an empty database, which both are gone after the test. */
export async function openPool(options: pg.PoolConfig = {}): Promise<pg.Pool> {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url, ...options })
  pool.on('error', () => {}) // Dropping the database may come before the goodbyes.
  onTestFinished(async () => {
    await pool.end()
    await database.drop()
  })
  return pool
}

/** Another pool on the same database, as another replica has one. */
export function secondPool({ options }: pg.Pool): pg.Pool {
  const pool = new pg.Pool({ ...options })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}
