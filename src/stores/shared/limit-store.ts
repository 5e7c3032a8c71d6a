import type { LimitStore, RateLimit, RateState, Release } from '../../core/limits/limit-store.ts'
import type { Database } from './database.ts'

/** Attempts to occupy a free place: several processes may pick the same one, and only one gets it. */
const maxAttempts = 20

/** Timeouts of a database of limits, in milliseconds. Short, because every counted request waits for the result. */
export const limitTimeouts = { patience: 0, startPatience: 0, statementTimeout: 5_000 }

/** Limits that replicas share, by the clock of the database. */
export interface ServerLimits extends LimitStore {
  /** Releases the held places and stops. Does not end the pool. */
  close(): Promise<void>
}

export interface LimitKey {
  /** Encoded. */
  readonly key: string
}

export interface LimitPlace extends LimitKey {
  readonly place: number
  readonly holder: string
}

/** When all uses of a rate will be back, and the time of the database, in milliseconds since 1970. */
export interface RateRow {
  readonly full_at: number
  readonly now: number | string
}

/** Statements of a limit store that an engine writes in its own way. Times are in milliseconds. */
export interface LimitEngine {
  readonly db: Database
  /** Moves the end of a rate by an interval. Undefined if the rate would not be full again within its window then. */
  count(values: LimitKey & { readonly interval: number; readonly window: number }): Promise<RateRow | undefined>
  /** The same without a window. */
  add(values: LimitKey & { readonly cost: number }): Promise<RateRow | undefined>
  readRate(key: LimitKey): Promise<RateRow | undefined>
  /** One of the places from 1 to `limit` that no process holds, at random. */
  findFree(values: LimitKey & { readonly limit: number }): Promise<number | undefined>
  /** Takes a place, unless another process has taken it. */
  occupy(values: LimitPlace & { readonly ttl: number }): Promise<boolean>
}

export interface ServerLimitsOptions {
  readonly open: (closed: AbortSignal) => Promise<LimitEngine>
  /** In seconds. */
  readonly placeTtl: number
}

/** Counts limits in a database on a server, which is opened on first use. */
export function createServerLimits({ open, placeTtl }: ServerLimitsOptions): ServerLimits {
  const holder = crypto.randomUUID()
  const ttl = placeTtl * 1000
  const closing = new AbortController()
  let opened: Promise<Counters> | undefined
  const renewal = setInterval(() => void renew().catch(() => {}), ttl / 3).unref()

  /** Opens the database on first use, and again after a failure. */
  async function counters(): Promise<Counters> {
    opened ??= open(closing.signal).then(createCounters)
    return await opened.catch((error) => {
      opened = undefined
      throw error
    })
  }

  async function renew(): Promise<void> {
    if (!opened) return
    const { renewPlaces, dropRates, dropPlaces } = await counters()
    await renewPlaces({ holder, ttl })
    await dropRates()
    await dropPlaces({ ago: -60_000 })
  }

  async function take(key: string, { limit, window }: RateLimit): Promise<RateState> {
    const { count, readRate, encode } = await counters()
    const interval = (window * 1000) / limit
    const values = { key: encode(key), interval, window: window * 1000 }
    const counted = await count(values)
    const used = usedOf(counted ?? (await readRate(values)))
    return {
      isAllowed: counted !== undefined,
      remaining: Math.max(0, Math.floor((window * 1000 - used) / interval + 1e-6)),
      fullAfter: used / 1000,
      retryAfter: Math.max(0, (used + interval - window * 1000) / 1000),
    }
  }

  async function charge(key: string, rate: RateLimit, amount: number): Promise<RateState> {
    const { add, readRate, encode } = await counters()
    const values = { key: encode(key), cost: (amount * rate.window * 1000) / rate.limit }
    const used = usedOf(amount > 0 ? await add(values) : await readRate(values))
    const left = rate.window * 1000 - used
    return {
      isAllowed: left > 0.01,
      remaining: Math.max(0, Math.floor((left / (rate.window * 1000)) * rate.limit + 1e-6)),
      fullAfter: used / 1000,
      retryAfter: Math.max(0, -left / 1000),
    }
  }

  async function hold(name: string, limit: number): Promise<Release | undefined> {
    const { findFree, occupy, encode } = await counters()
    const key = encode(name)
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const place = await findFree({ key, limit })
      if (place === undefined) return undefined
      if (await occupy({ key, place, holder, ttl })) return releaseOf({ key, place, holder })
    }
    return undefined
  }

  function releaseOf(place: LimitPlace): Release {
    let isHeld = true
    return async () => {
      if (!isHeld) return
      isHeld = false
      // If this fails, the place is free when its time is over.
      await counters()
        .then(({ leave }) => leave(place))
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

type Counters = ReturnType<typeof createCounters>

function createCounters(engine: LimitEngine) {
  const { db } = engine
  const { syntax } = db
  const [rates, places] = [db.name('limit_rates'), db.name('limit_places')]
  return {
    ...engine,
    encode: syntax.encodeKey,
    leave: db.prepareChange<LimitPlace>(
      ({ key, place, holder }) =>
        `DELETE FROM ${places} WHERE ${syntax.quote('key')} = ${key} AND place = ${place} AND holder = ${holder}`,
    ),
    leaveAll: db.prepareChange<{ readonly holder: string }>(
      ({ holder }) => `DELETE FROM ${places} WHERE holder = ${holder}`,
    ),
    renewPlaces: db.prepareChange<{ readonly holder: string; readonly ttl: number }>(
      ({ holder, ttl }) => `UPDATE ${places} SET until = ${syntax.after(ttl)} WHERE holder = ${holder}`,
    ),
    dropRates: db.prepareChange(() => `DELETE FROM ${rates} WHERE full_at < ${syntax.clock}`),
    dropPlaces: db.prepareChange<{ readonly ago: number }>(
      ({ ago }) => `DELETE FROM ${places} WHERE until < ${syntax.after(ago)}`,
    ),
  }
}

/** Milliseconds until all uses of a rate are back. */
function usedOf(rate: RateRow | undefined): number {
  return Math.max(0, rate ? rate.full_at - Number(rate.now) : 0)
}
