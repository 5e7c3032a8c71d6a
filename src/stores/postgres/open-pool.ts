import { importOptional } from '../../protocol/lazy-import.ts'
import type { PostgresPool } from './connection.ts'

/** A pool that its owner ends. */
export interface OwnedPool extends PostgresPool {
  end(): Promise<void>
}

/** Opens a pool of the package `pg`, an optional dependency that is loaded only here. */
export async function openPool(connectionString: string): Promise<OwnedPool> {
  const { default: pg } = await importOptional(() => import('pg'), 'PARLEY_DATABASE_URL', 'pg')
  return new pg.Pool({ connectionString, application_name: 'parley' })
}
