import { checkOptions, text } from '../../core/base/options.ts'
import {
  createServerReplayCache,
  replayCacheChecks,
  replayCacheTimeouts,
  type ServerReplayCache,
  type ServerReplayCacheOptions,
} from '../shared/replay-cache.ts'
import { type MysqlPool, poolCheck } from './connection.ts'
import { openDatabase } from './schema.ts'

/** Options of `createMysqlReplayCache`. */
export interface MysqlReplayCacheOptions extends ServerReplayCacheOptions {
  /** A pool of `mysql2/promise`, with a database. The cache does not end it. */
  readonly pool: MysqlPool
  /** How the names of the tables begin, which are created if missing. Defaults to `parley_`, as for the log. */
  readonly prefix?: string
}

/** A replay cache that replicas share. */
export interface MysqlReplayCache extends ServerReplayCache {}

/** Remembers mesh messages for all replicas of one agent, in MySQL or MariaDB. */
export async function createMysqlReplayCache(options: MysqlReplayCacheOptions): Promise<MysqlReplayCache> {
  checkOptions('createMysqlReplayCache', options, { ...replayCacheChecks, pool: poolCheck, prefix: text }, ['pool'])
  const { pool, prefix = 'parley_' } = options
  return await createServerReplayCache(
    (closed) => openDatabase({ pool, prefix, ...replayCacheTimeouts, closed }),
    options,
  )
}
