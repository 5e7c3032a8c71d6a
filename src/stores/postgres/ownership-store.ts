import { checkOptions, flag, text } from '../../core/base/options.ts'
import type { OwnershipStore } from '../../core/tasks/ownership.ts'
import { createServerOwnership, ownershipTimeouts } from '../shared/ownership-store.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { openDatabase } from './schema.ts'

/** Options of `createPostgresOwnership`. */
export interface PostgresOwnershipOptions {
  /** A `Pool` of the package `pg`, which the store does not end. */
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley_gateway`. */
  readonly schema?: string
  /** Set to false behind PgBouncer in transaction mode: statements are not prepared. Defaults to true. */
  readonly prepare?: boolean
}

/** Stores ownership records for all replicas, in PostgreSQL. */
export async function createPostgresOwnership(options: PostgresOwnershipOptions): Promise<OwnershipStore> {
  checkOptions('createPostgresOwnership', options, { pool: poolCheck, schema: text, prepare: flag }, ['pool'])
  const { pool, schema = 'parley_gateway', prepare } = options
  const closing = new AbortController()
  const db = await openDatabase({ pool, schema, prepare, ...ownershipTimeouts, closed: closing.signal })
  await createTable(pool, db.name('ownership'))
  return createServerOwnership(db, closing)
}

/** Of several processes that start together, one creates the table; the others may see it in the making. */
async function createTable(pool: PostgresPool, table: string): Promise<void> {
  const text = `
    CREATE TABLE IF NOT EXISTS ${table} (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      agent text NOT NULL, kind text NOT NULL, id text NOT NULL, owner text NOT NULL, remote_id text NOT NULL,
      context_id text, data text, created timestamptz NOT NULL DEFAULT now(), UNIQUE (agent, kind, id));
    CREATE INDEX IF NOT EXISTS ownership_remote ON ${table} (agent, kind, remote_id);
    CREATE INDEX IF NOT EXISTS ownership_owner ON ${table} (agent, kind, owner, number);
    CREATE INDEX IF NOT EXISTS ownership_created ON ${table} (created)`
  for (let attempt = 1; ; attempt++) {
    try {
      await pool.query({ text })
      return
    } catch (error) {
      if (attempt === 3) throw error
    }
  }
}
