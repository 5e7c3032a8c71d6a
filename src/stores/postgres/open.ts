import { createDatabase, type Database, type DatabaseOptions } from './database.ts'
import type { PostgresPool } from './driver.ts'
import { migrate } from './migrations.ts'

/** A database whose schema is there and of the newest format. */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { pool, schema } = options
  requireSchema(schema)
  const db = createDatabase(options)
  calm(pool)
  await db.patiently(() => migrate(pool, schema))
  return db
}

/** It becomes part of statements. */
export function requireSchema(schema: string): void {
  if (/^[a-z_][a-z0-9_]{0,39}$/.test(schema)) return
  throw new Error(`The schema must be a word of at most 40 small letters, digits and _, and "${schema}" is not.`)
}

const calmed = new WeakSet<object>()

/** Whoever uses a broken connection next hears of it; that one broke while nobody asked must not end the process. */
function calm(pool: PostgresPool): void {
  if (calmed.has(pool)) return
  calmed.add(pool)
  pool.on('error', () => {})
  pool.on('acquire', (client) => {
    if (calmed.has(client)) return
    calmed.add(client)
    client.on('error', () => {})
  })
}
