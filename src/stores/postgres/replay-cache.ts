import { checkOptions, flag, type OptionChecks, text } from '../../core/base/options.ts'
import {
  createServerReplayCache,
  replayCacheChecks,
  replayCacheTimeouts,
  type ServerReplayCache,
  type ServerReplayCacheOptions,
} from '../shared/replay-cache.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { openDatabase } from './schema.ts'

/** Options of `createPostgresReplayCache`. */
export interface PostgresReplayCacheOptions extends ServerReplayCacheOptions {
  /** A `Pool` of the package `pg`, which the cache does not end. */
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley`, as for the log. */
  readonly schema?: string
  /** Set to false behind PgBouncer in transaction mode: statements are not prepared. Defaults to true. */
  readonly prepare?: boolean
}

const optionChecks: OptionChecks<PostgresReplayCacheOptions> = {
  ...replayCacheChecks,
  pool: poolCheck,
  schema: text,
  prepare: flag,
}

/** A replay cache that replicas share. */
export interface PostgresReplayCache extends ServerReplayCache {}

/** Remembers mesh messages for all replicas of one agent. */
export async function createPostgresReplayCache(options: PostgresReplayCacheOptions): Promise<PostgresReplayCache> {
  checkOptions('createPostgresReplayCache', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', prepare } = options
  return await createServerReplayCache(
    (closed) => openDatabase({ pool, schema, prepare, ...replayCacheTimeouts, closed }),
    options,
  )
}
