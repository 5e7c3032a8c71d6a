import type { LimitStore, Rate, Release, Standing } from '../../limits/store.ts'
import type { PostgresPool, PostgresValue } from './driver.ts'

export interface PostgresLimitsOptions {
  readonly pool: PostgresPool
  /** The schema of its tables. `parley` by default, as that of the log. */
  readonly schema?: string
  /** Seconds after which the places of a process that is gone are free again. */
  readonly placeTtl?: number
}

/** Limits that replicas share. Its clock is that of the database. */
export interface PostgresLimits extends LimitStore {
  /** Gives back what is held, and stops. The pool stays its maker's to end. */
  close(): Promise<void>
}

/** Several may reach for the same free place at once; one gets it, and the others try the next. */
const tries = 20

export function createPostgresLimits({
  pool,
  schema = 'parley',
  placeTtl = 30,
}: PostgresLimitsOptions): PostgresLimits {
  if (!/^[a-z_][a-z0-9_]*$/.test(schema))
    throw new TypeError(`createPostgresLimits(): ${schema} is no name of a schema`)
  const holder = crypto.randomUUID()
  const rates = `"${schema}".limit_rates`
  const places = `"${schema}".limit_places`
  const now = `extract(epoch FROM statement_timestamp())::float8 * 1000`
  let made: Promise<unknown> | undefined
  let takes = 0
  const beat = setInterval(() => void renew().catch(() => {}), (placeTtl * 1000) / 3).unref()

  async function query<Row>(text: string, ...values: PostgresValue[]): Promise<readonly Row[]> {
    made ??= make()
    await made.catch((error) => {
      made = undefined
      throw error
    })
    return (await pool.query({ text, values })).rows as Row[]
  }

  async function make(): Promise<void> {
    const client = await pool.connect()
    try {
      // Replicas that start together do it one after the other.
      await client.query({
        text: `BEGIN; SELECT pg_advisory_xact_lock(hashtextextended('parley limits ${schema}', 0));
          CREATE SCHEMA IF NOT EXISTS "${schema}";
          CREATE TABLE IF NOT EXISTS ${rates} (key text COLLATE "C" PRIMARY KEY, full_at float8 NOT NULL);
          CREATE TABLE IF NOT EXISTS ${places} (key text COLLATE "C", place int, holder text NOT NULL,
            until timestamptz NOT NULL, PRIMARY KEY (key, place));
          COMMIT`,
      })
      client.release()
    } catch (error) {
      client.release(true) // what is closed is rolled back
      throw error
    }
  }

  async function renew(): Promise<void> {
    await query(`UPDATE ${places} SET until = now() + $2 * interval '1 second' WHERE holder = $1`, holder, placeTtl)
    if (takes === 0) return
    takes = 0
    await query(`DELETE FROM ${rates} WHERE full_at < ${now}`)
  }

  async function take(key: string, { limit, window }: Rate): Promise<Standing> {
    takes++
    const each = (window * 1000) / limit
    const [counted] = await query<{ full_at: number; now: number }>(
      `INSERT INTO ${rates} AS known VALUES ($1, ${now} + $2::float8)
       ON CONFLICT (key) DO UPDATE SET full_at = greatest(known.full_at, ${now}) + $2::float8
       WHERE greatest(known.full_at, ${now}) + $2::float8 <= ${now} + $3::float8 + 0.01
       RETURNING full_at, ${now} AS now`,
      key,
      each,
      window * 1000,
    )
    const [known] = counted
      ? [counted]
      : await query<{ full_at: number; now: number }>(`SELECT full_at, ${now} AS now FROM ${rates} WHERE key = $1`, key)
    const used = Math.max(0, known ? known.full_at - known.now : 0)
    return {
      isAllowed: counted !== undefined,
      remaining: Math.max(0, Math.floor((window * 1000 - used) / each + 1e-6)),
      fullAfter: used / 1000,
      retryAfter: Math.max(0, (used + each - window * 1000) / 1000),
    }
  }

  async function hold(key: string, limit: number): Promise<Release | undefined> {
    for (let attempt = 0; attempt < tries; attempt++) {
      const [free] = await query<{ place: number }>(
        `SELECT place FROM generate_series(1, $2::int) AS place WHERE NOT EXISTS
         (SELECT FROM ${places} AS taken WHERE taken.key = $1 AND taken.place = place.place AND until > now())
         ORDER BY random() LIMIT 1`,
        key,
        limit,
      )
      if (!free) return undefined
      const [got] = await query(
        `INSERT INTO ${places} AS taken VALUES ($1, $2, $3, now() + $4 * interval '1 second')
         ON CONFLICT (key, place) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE taken.until <= now() RETURNING place`,
        key,
        free.place,
        holder,
        placeTtl,
      )
      if (got) return releaseOf(key, free.place)
    }
    return undefined
  }

  function releaseOf(key: string, place: number): Release {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      // If it cannot be given back now, it is free when its time is over.
      query(`DELETE FROM ${places} WHERE key = $1 AND place = $2 AND holder = $3`, key, place, holder).catch(() => {})
    }
  }

  return {
    take,
    hold,
    async close() {
      clearInterval(beat)
      await query(`DELETE FROM ${places} WHERE holder = $1`, holder)
    },
  }
}
