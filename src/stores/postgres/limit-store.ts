import { checkOptions, flag, isAbove, type OptionChecks, text } from '../../core/base/options.ts'
import {
  createServerLimits,
  type LimitEngine,
  type LimitKey,
  type LimitPlace,
  limitTimeouts,
  type RateRow,
  type ServerLimits,
} from '../shared/limit-store.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { type OpenOptions, openDatabase, requireSchema } from './schema.ts'
import { postgresSyntax } from './sql-text.ts'

/** Options of `createPostgresLimits`. */
export interface PostgresLimitsOptions {
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley`, as for the log. */
  readonly schema?: string
  /** Time after which the places of a crashed process are free again, in seconds. Defaults to 30. */
  readonly placeTtl?: number
  /** Set to false behind PgBouncer in transaction mode: statements are not prepared. Defaults to true. */
  readonly prepare?: boolean
}

const optionChecks: OptionChecks<PostgresLimitsOptions> = {
  pool: poolCheck,
  schema: text,
  placeTtl: isAbove(0),
  prepare: flag,
}

/** Limits that replicas share, by the clock of the database. */
export interface PostgresLimits extends ServerLimits {}

/** Creates a store that counts the `limits` of all replicas together, in PostgreSQL. */
export function createPostgresLimits(options: PostgresLimitsOptions): PostgresLimits {
  checkOptions('createPostgresLimits', options, optionChecks, ['pool'])
  const { pool, schema = 'parley', placeTtl = 30, prepare } = options
  requireSchema(schema)
  return createServerLimits({ open: (closed) => openEngine({ pool, schema, prepare, closed }), placeTtl })
}

async function openEngine(options: Pick<OpenOptions, 'pool' | 'schema' | 'prepare' | 'closed'>): Promise<LimitEngine> {
  const db = await openDatabase({ ...options, ...limitTimeouts, subject: 'The limit store' })
  const [rates, places] = [db.name('limit_rates'), db.name('limit_places')]
  const now = 'extract(epoch FROM statement_timestamp())::float8 * 1000'
  const count = db.prepare<RateRow, LimitKey & { readonly interval: number; readonly window: number }>(
    ({ key, interval, window }) => `
    INSERT INTO ${rates} AS known VALUES (${key}, ${now} + ${interval}::float8)
    ON CONFLICT (key) DO UPDATE SET full_at = greatest(known.full_at, ${now}) + ${interval}::float8
    WHERE greatest(known.full_at, ${now}) + ${interval}::float8 <= ${now} + ${window}::float8 + 0.01
    RETURNING full_at, ${now} AS now`,
  )
  const add = db.prepare<RateRow, LimitKey & { readonly cost: number }>(
    ({ key, cost }) => `
    INSERT INTO ${rates} AS known VALUES (${key}, ${now} + ${cost}::float8)
    ON CONFLICT (key) DO UPDATE SET full_at = greatest(known.full_at, ${now}) + ${cost}::float8
    RETURNING full_at, ${now} AS now`,
  )
  const readRate = db.prepare<RateRow, LimitKey>(
    ({ key }) => `SELECT full_at, ${now} AS now FROM ${rates} WHERE key = ${key}`,
  )
  const findFree = db.prepare<{ readonly place: number }, LimitKey & { readonly limit: number }>(
    ({ key, limit }) => `
    SELECT place FROM generate_series(1, ${limit}::int) AS place WHERE NOT EXISTS
    (SELECT FROM ${places} AS taken WHERE taken.key = ${key} AND taken.place = place.place AND until > now())
    ORDER BY random() LIMIT 1`,
  )
  const occupy = db.prepareChange<LimitPlace & { readonly ttl: number }>(
    ({ key, place, holder, ttl }) => `
    INSERT INTO ${places} AS taken VALUES (${key}, ${place}, ${holder}, ${postgresSyntax.after(ttl)})
    ON CONFLICT (key, place) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE taken.until <= now()`,
  )
  return {
    db,
    count: async ({ key, interval, window }) => (await count({ key, interval, window }))[0],
    add: async ({ key, cost }) => (await add({ key, cost }))[0],
    readRate: async ({ key }) => (await readRate({ key }))[0],
    findFree: async (values) => (await findFree(values))[0]?.place,
    occupy: async (values) => (await occupy(values)) > 0,
  }
}
