import { checkOptions, isAbove, text } from '../../core/base/options.ts'
import {
  createServerLimits,
  type LimitEngine,
  type LimitKey,
  type LimitPlace,
  limitTimeouts,
  type RateRow,
  type ServerLimits,
} from '../shared/limit-store.ts'
import { type MysqlPool, poolCheck } from './connection.ts'
import { openDatabase, requirePrefix } from './schema.ts'
import { clockSql } from './sql-text.ts'

/** Attempts to count a use, if other processes create or remove the row of the rate at the same moment. */
const maxAttempts = 5

/** Options of `createMysqlLimits`. */
export interface MysqlLimitsOptions {
  /** A pool of `mysql2/promise`, with a database. The store does not end it. */
  readonly pool: MysqlPool
  /** How the names of the tables begin, which are created if missing. Defaults to `parley_`, as for the log. */
  readonly prefix?: string
  /** Time after which the places of a crashed process are free again, in seconds. Defaults to 30. */
  readonly placeTtl?: number
}

/** Limits that replicas share, by the clock of the database. */
export interface MysqlLimits extends ServerLimits {}

/** Creates a store that counts the `limits` of all replicas together, in MySQL or MariaDB. */
export function createMysqlLimits(options: MysqlLimitsOptions): MysqlLimits {
  checkOptions('createMysqlLimits', options, { pool: poolCheck, prefix: text, placeTtl: isAbove(0) }, ['pool'])
  const { pool, prefix = 'parley_', placeTtl = 30 } = options
  requirePrefix(prefix)
  return createServerLimits({ open: (closed) => openEngine({ pool, prefix, closed }), placeTtl })
}

async function openEngine(options: { pool: MysqlPool; prefix: string; closed: AbortSignal }): Promise<LimitEngine> {
  const db = await openDatabase({ ...options, ...limitTimeouts, subject: 'The limit store' })
  const [rates, places] = [db.name('limit_rates'), db.name('limit_places')]
  const isWithin = (values: { interval: string; window: string }) =>
    `GREATEST(full_at, ${clockSql}) + ${values.interval} <= ${clockSql} + ${values.window} + 0.01`
  const advance = db.prepareChange<LimitKey & { readonly interval: number; readonly window: number }>(
    (value) => `
    UPDATE ${rates} SET full_at = GREATEST(full_at, ${clockSql}) + ${value.interval}
    WHERE \`key\` = ${value.key} AND ${isWithin(value)}`,
  )
  const insert = db.prepareChange<LimitKey & { readonly interval: number }>(({ key, interval }) =>
    db.syntax.insertNew(rates, { key, full_at: `${clockSql} + ${interval}` }),
  )
  const selectFull = db.prepare<unknown, LimitKey & { readonly interval: number; readonly window: number }>(
    (value) => `SELECT 1 FROM ${rates} WHERE \`key\` = ${value.key} AND NOT (${isWithin(value)})`,
  )
  const add = db.prepareChange<LimitKey & { readonly cost: number }>(
    ({ key, cost }) => `
    INSERT INTO ${rates} (\`key\`, full_at) VALUES (${key}, ${clockSql} + ${cost})
    ON DUPLICATE KEY UPDATE full_at = GREATEST(full_at, ${clockSql}) + ${cost}`,
  )
  const select = db.prepare<RateRow, LimitKey>(
    ({ key }) => `SELECT full_at, ${clockSql} AS now FROM ${rates} WHERE \`key\` = ${key}`,
  )
  const selectTaken = db.prepare<{ readonly place: number }, LimitKey & { readonly limit: number }>(
    ({ key, limit }) => `
    SELECT place FROM ${places} WHERE \`key\` = ${key} AND place <= ${limit} AND until > ${clockSql}`,
  )
  const takeOver = db.prepareChange<LimitPlace & { readonly ttl: number }>(
    ({ key, place, holder, ttl }) => `
    UPDATE ${places} SET holder = ${holder}, until = ${clockSql} + ${ttl}
    WHERE \`key\` = ${key} AND place = ${place} AND until <= ${clockSql}`,
  )
  const occupy = db.prepareChange<LimitPlace & { readonly ttl: number }>(({ key, place, holder, ttl }) =>
    db.syntax.insertNew(places, { key, place, holder, until: `${clockSql} + ${ttl}` }),
  )
  const readRate = async ({ key }: LimitKey) => (await select({ key }))[0]
  return {
    db,
    async count({ key, interval, window }) {
      for (let attempt = 0; attempt < maxAttempts; attempt++) {
        const isCounted = (await advance({ key, interval, window })) > 0 || (await insert({ key, interval })) > 0
        if (isCounted) return await readRate({ key })
        if ((await selectFull({ key, interval, window })).length > 0) return undefined
      }
      return undefined
    },
    async add({ key, cost }) {
      await add({ key, cost })
      return await readRate({ key })
    },
    readRate,
    async findFree({ key, limit }) {
      const taken = new Set((await selectTaken({ key, limit })).map(({ place }) => place))
      // Starts at random, so that processes rarely pick the same place.
      const start = Math.floor(Math.random() * limit)
      for (let offset = 0; taken.size < limit && offset < limit; offset++) {
        const place = ((start + offset) % limit) + 1
        if (!taken.has(place)) return place
      }
      return undefined
    },
    occupy: async (values) => (await takeOver(values)) > 0 || (await occupy(values)) > 0,
  }
}
