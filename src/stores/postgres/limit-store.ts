import { checkOptions, isAbove, text } from '../../core/base/options.ts'
import type { LimitStore, RateLimit, RateState, Release } from '../../core/limits/limit-store.ts'
import { encodeText } from '../shared/sql-text.ts'
import { type PostgresPool, poolCheck } from './connection.ts'
import { openDatabase, requireSchema } from './schema.ts'

/** Attempts to occupy a free place: several processes may pick the same one, and only one gets it. */
const maxAttempts = 20

/** In milliseconds. Short, because every counted request waits for the result. */
const timeouts = { patience: 0, startPatience: 0, statementTimeout: 5_000 }

/** Options of `createPostgresLimits`. */
export interface PostgresLimitsOptions {
  readonly pool: PostgresPool
  /** The schema of the tables, created if missing. Defaults to `parley`, as for the log. */
  readonly schema?: string
  /** Time after which the places of a crashed process are free again, in seconds. Defaults to 30. */
  readonly placeTtl?: number
}

/** Limits that replicas share, by the clock of the database. */
export interface PostgresLimits extends LimitStore {
  /** Releases the held places and stops. Does not end the pool. */
  close(): Promise<void>
}

/** Creates a store that counts the `limits` of all replicas together, in PostgreSQL. */
export function createPostgresLimits(options: PostgresLimitsOptions): PostgresLimits {
  checkOptions('createPostgresLimits', options, { pool: poolCheck, schema: text, placeTtl: isAbove(0) }, ['pool'])
  const { pool, schema = 'parley', placeTtl = 30 } = options
  requireSchema(schema)
  const holder = crypto.randomUUID()
  const closing = new AbortController()
  let opened: Promise<Counters> | undefined
  const renewal = setInterval(() => void renew().catch(() => {}), (placeTtl * 1000) / 3).unref()

  /** Opens the database on first use, and again after a failure. */
  async function counters(): Promise<Counters> {
    opened ??= openCounters({ pool, schema, closed: closing.signal })
    return await opened.catch((error) => {
      opened = undefined
      throw error
    })
  }

  async function renew(): Promise<void> {
    if (!opened) return
    const { renewPlaces, dropRates, dropPlaces } = await counters()
    await renewPlaces({ holder, ttl: placeTtl })
    await dropRates()
    await dropPlaces()
  }

  async function take(key: string, { limit, window }: RateLimit): Promise<RateState> {
    const { count, readRate } = await counters()
    const interval = (window * 1000) / limit
    const name = encodeText(key)
    const [counted] = await count({ key: name, interval, window: window * 1000 })
    const [rate] = counted ? [counted] : await readRate({ key: name })
    const used = Math.max(0, rate ? rate.full_at - rate.now : 0)
    return {
      isAllowed: counted !== undefined,
      remaining: Math.max(0, Math.floor((window * 1000 - used) / interval + 1e-6)),
      fullAfter: used / 1000,
      retryAfter: Math.max(0, (used + interval - window * 1000) / 1000),
    }
  }

  async function charge(key: string, rate: RateLimit, amount: number): Promise<RateState> {
    const { add, readRate } = await counters()
    const cost = (amount * rate.window * 1000) / rate.limit
    const [row] = amount > 0 ? await add({ key: encodeText(key), cost }) : await readRate({ key: encodeText(key) })
    const used = Math.max(0, row ? row.full_at - row.now : 0)
    const left = rate.window * 1000 - used
    return {
      isAllowed: left > 0.01,
      remaining: Math.max(0, Math.floor((left / (rate.window * 1000)) * rate.limit + 1e-6)),
      fullAfter: used / 1000,
      retryAfter: Math.max(0, -left / 1000),
    }
  }

  async function hold(key: string, limit: number): Promise<Release | undefined> {
    const { findFree, occupy } = await counters()
    const name = encodeText(key)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const [free] = await findFree({ key: name, limit })
      if (!free) return undefined
      const [occupied] = await occupy({ key: name, place: free.place, holder, ttl: placeTtl })
      if (occupied) return releaseOf(name, free.place)
    }
    return undefined
  }

  function releaseOf(name: string, place: number): Release {
    let isHeld = true
    return async () => {
      if (!isHeld) return
      isHeld = false
      // If this fails, the place is free when its time is over.
      await counters()
        .then(({ leave }) => leave({ key: name, place, holder }))
        .catch(() => {})
    }
  }

  return {
    take,
    charge,
    hold,
    async close() {
      clearInterval(renewal)
      if (opened) await (await counters()).leaveAll({ holder })
      closing.abort()
    },
  }
}

interface Key {
  readonly key: string
}

interface Holder {
  readonly holder: string
}

interface Place extends Key, Holder {
  readonly place: number
}

interface RateRow {
  readonly full_at: number
  readonly now: number
}

type Counters = Awaited<ReturnType<typeof openCounters>>

async function openCounters(options: { pool: PostgresPool; schema: string; closed: AbortSignal }) {
  const db = await openDatabase({ ...options, ...timeouts, subject: 'The limit store' })
  const [rates, places] = [db.name('limit_rates'), db.name('limit_places')]
  const now = 'extract(epoch FROM statement_timestamp())::float8 * 1000'
  const later = (seconds: string) => `now() + ${seconds}::float8 * interval '1 second'`
  return {
    count: db.prepare<RateRow, Key & { readonly interval: number; readonly window: number }>(
      ({ key, interval, window }) => `
      INSERT INTO ${rates} AS known VALUES (${key}, ${now} + ${interval}::float8)
      ON CONFLICT (key) DO UPDATE SET full_at = greatest(known.full_at, ${now}) + ${interval}::float8
      WHERE greatest(known.full_at, ${now}) + ${interval}::float8 <= ${now} + ${window}::float8 + 0.01
      RETURNING full_at, ${now} AS now`,
    ),
    add: db.prepare<RateRow, Key & { readonly cost: number }>(
      ({ key, cost }) => `
      INSERT INTO ${rates} AS known VALUES (${key}, ${now} + ${cost}::float8)
      ON CONFLICT (key) DO UPDATE SET full_at = greatest(known.full_at, ${now}) + ${cost}::float8
      RETURNING full_at, ${now} AS now`,
    ),
    readRate: db.prepare<RateRow, Key>(({ key }) => `SELECT full_at, ${now} AS now FROM ${rates} WHERE key = ${key}`),
    findFree: db.prepare<{ readonly place: number }, Key & { readonly limit: number }>(
      ({ key, limit }) => `
      SELECT place FROM generate_series(1, ${limit}::int) AS place WHERE NOT EXISTS
      (SELECT FROM ${places} AS taken WHERE taken.key = ${key} AND taken.place = place.place AND until > now())
      ORDER BY random() LIMIT 1`,
    ),
    occupy: db.prepare<{ readonly place: number }, Place & { readonly ttl: number }>(
      ({ key, place, holder, ttl }) => `
      INSERT INTO ${places} AS taken VALUES (${key}, ${place}, ${holder}, ${later(ttl)})
      ON CONFLICT (key, place) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE taken.until <= now() RETURNING place`,
    ),
    leave: db.prepare<unknown, Place>(
      ({ key, place, holder }) =>
        `DELETE FROM ${places} WHERE key = ${key} AND place = ${place} AND holder = ${holder}`,
    ),
    leaveAll: db.prepare<unknown, Holder>(({ holder }) => `DELETE FROM ${places} WHERE holder = ${holder}`),
    renewPlaces: db.prepare<unknown, Holder & { readonly ttl: number }>(
      ({ holder, ttl }) => `UPDATE ${places} SET until = ${later(ttl)} WHERE holder = ${holder}`,
    ),
    dropRates: db.prepare(() => `DELETE FROM ${rates} WHERE full_at < ${now}`),
    dropPlaces: db.prepare(() => `DELETE FROM ${places} WHERE until < now() - interval '1 minute'`),
  }
}
