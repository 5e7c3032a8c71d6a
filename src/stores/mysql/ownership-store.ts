import { checkOptions, text } from '../../core/base/options.ts'
import type { OwnershipStore } from '../../core/tasks/ownership.ts'
import { createServerOwnership, ownershipTimeouts } from '../shared/ownership-store.ts'
import { type MysqlPool, poolCheck } from './connection.ts'
import { openDatabase } from './schema.ts'

/** Options of `createMysqlOwnership`. */
export interface MysqlOwnershipOptions {
  /** A pool of `mysql2/promise`, with a database. The store does not end it. */
  readonly pool: MysqlPool
  /** How the names of the tables begin, which are created if missing. Defaults to `parley_gateway_`. */
  readonly prefix?: string
}

/** Stores ownership records for all replicas, in MySQL or MariaDB. */
export async function createMysqlOwnership(options: MysqlOwnershipOptions): Promise<OwnershipStore> {
  checkOptions('createMysqlOwnership', options, { pool: poolCheck, prefix: text }, ['pool'])
  const { pool, prefix = 'parley_gateway_' } = options
  const closing = new AbortController()
  const db = await openDatabase({ pool, prefix, ...ownershipTimeouts, closed: closing.signal })
  return createServerOwnership(db, closing)
}
