import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LimitStore } from '../../src/core/limits/limit-store.ts'
import { createMemoryLimits } from '../../src/core/limits/limit-store.ts'
import { createMysqlLimits, type MysqlLimits, type MysqlPool } from '../../src/entries/mysql.ts'
import { createPostgresLimits } from '../../src/entries/postgres.ts'
import type { PostgresLimits } from '../../src/stores/postgres/limit-store.ts'
import { migrations } from '../../src/stores/postgres/schema.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'

const stores: Readonly<Record<string, () => Promise<LimitStore>>> = {
  memory: async () => createMemoryLimits(),
  PostgreSQL: async () => (await openPostgres()).store,
  ...(hasMariadb && { MySQL: async () => openMysql(await openMariadbPool()) }),
}

function openMysql(pool: MysqlPool, placeTtl = 30): MysqlLimits {
  const store = createMysqlLimits({ pool, placeTtl })
  onTestFinished(() => store.close())
  return store
}

async function openPostgres(placeTtl = 30) {
  const { url, release } = await takeDatabase()
  return openStores(url, placeTtl, release)
}

/** Stores on one database, which `leave` drops or empties after the test. */
function openStores(url: string, placeTtl: number, leave: () => Promise<void>) {
  const stores: PostgresLimits[] = []
  const pools: pg.Pool[] = []
  const open = (): PostgresLimits => {
    const pool = new pg.Pool({ connectionString: url })
    pools.push(pool)
    const store = createPostgresLimits({ pool, placeTtl })
    stores.push(store)
    return store
  }
  onTestFinished(async () => {
    // A store whose pool a test has ended cannot be closed.
    await Promise.allSettled(stores.map((store) => store.close()))
    await Promise.all(pools.filter(({ ended }) => !ended).map((pool) => pool.end()))
    await leave()
  })
  return { open, pools, store: open(), pool: pools[0] ?? expect.fail('no pool') }
}

startServerFirst()
describe.each(Object.keys(stores))('limit store: %s', (name) => {
  const open = async () => (await stores[name]?.()) ?? expect.fail('unknown store')

  it('a rate limit allows a number of uses per window and reports its state', async () => {
    const store = await open()
    const rate = { limit: 2, window: 60 }
    expect(await store.take('a', rate)).toMatchObject({ isAllowed: true, remaining: 1, retryAfter: 0 })
    expect(await store.take('a', rate)).toMatchObject({ isAllowed: true, remaining: 0 })
    const third = await store.take('a', rate)
    expect(third).toMatchObject({ isAllowed: false, remaining: 0 })
    expect(third.retryAfter).toBeGreaterThan(20)
    expect(third.fullAfter).toBeGreaterThan(50)
    expect(await store.take('b', rate)).toMatchObject({ isAllowed: true })
  })

  it('uses become available again steadily', async () => {
    const store = await open()
    const rate = { limit: 2, window: 0.6 }
    for (const _ of [1, 2]) expect((await store.take('a', rate)).isAllowed).toBe(true)
    await expect.poll(async () => (await store.take('a', rate)).isAllowed, { interval: 20 }).toBe(true)
    expect((await store.take('a', rate)).isAllowed).toBe(false)
  })

  it('an amount is charged beyond its limit, and reading the state charges nothing', async () => {
    const store = await open()
    const rate = { limit: 100, window: 60 }
    const charge = async (amount: number) => (await store.charge?.('a', rate, amount)) ?? expect.fail('no charge')
    expect(await charge(0)).toMatchObject({ isAllowed: true, remaining: 100, retryAfter: 0 })
    expect(await charge(60)).toMatchObject({ isAllowed: true, remaining: 40 })
    expect(await charge(0)).toMatchObject({ isAllowed: true, remaining: 40 })
    const exceeded = await charge(90)
    expect(exceeded).toMatchObject({ isAllowed: false, remaining: 0 })
    expect(exceeded.retryAfter).toBeGreaterThan(25)
    expect(exceeded.retryAfter).toBeLessThanOrEqual(30)
    expect((await charge(0)).isAllowed).toBe(false)
  })

  it('a concurrency limit has a number of places, and each is released once', async () => {
    const store = await open()
    const [one, other] = [await store.hold('a', 2), await store.hold('a', 2)]
    expect([one, other]).toEqual([expect.any(Function), expect.any(Function)])
    expect(await store.hold('a', 2)).toBeUndefined()
    expect(await store.hold('b', 2)).toBeDefined()
    one?.()
    one?.()
    await expect.poll(async () => await store.hold('a', 2)).toBeDefined()
    expect(await store.hold('a', 2)).toBeUndefined()
  })

  it('concurrent callers get no more than the limit', async () => {
    const store = await open()
    const many = Array.from({ length: 30 })
    const held = await Promise.all(many.map(async () => await store.hold('a', 5)))
    expect(held.filter((release) => release !== undefined)).toHaveLength(5)
    const taken = await Promise.all(many.map(async () => await store.take('a', { limit: 5, window: 600 })))
    expect(taken.filter(({ isAllowed }) => isAllowed)).toHaveLength(5)
  })

  it('keys may be any string', async () => {
    const store = await open()
    const names = ['a\u0000b', 'a\nb', 'a\u001fb', '\ud800', 'a\\0000b', '', 'ä', 'x'.repeat(2_000)]
    for (const key of names) {
      const rate = { limit: 1, window: 600 }
      expect((await store.take(key, rate)).isAllowed).toBe(true)
      expect((await store.take(key, rate)).isAllowed).toBe(false)
      expect(await store.hold(key, 1)).toBeDefined()
      expect(await store.hold(key, 1)).toBeUndefined()
    }
  })
})

describe('limits in PostgreSQL', () => {
  it('the tables are created once by concurrent processes, in the versioned schema', async () => {
    const { url, drop } = await createDatabase()
    const { open, pool } = openStores(url, 30, drop)
    const rate = { limit: 3, window: 600 }
    const taken = await Promise.all([open(), open(), open(), open()].map((store) => store.take('a', rate)))
    expect(taken.filter(({ isAllowed }) => isAllowed)).toHaveLength(3)
    expect((await pool.query('SELECT format FROM parley.format')).rows).toEqual([{ format: migrations.length }])
  })

  it('the places of a crashed process become free after a while, and only those', async () => {
    const { open, store, pool, pools } = await openPostgres(0.6)
    expect(await open().hold('a', 1)).toBeDefined()
    await pools.pop()?.end() // so that it cannot renew its place
    expect(await store.hold('a', 1)).toBeUndefined()
    await expect.poll(async () => await store.hold('a', 1), { timeout: 5_000 }).toBeDefined()
    // A living process keeps its place.
    const untils = async () => (await pool.query('SELECT until FROM parley.limit_places')).rows[0].until.getTime()
    const until = await untils()
    await expect.poll(untils, { timeout: 5_000 }).toBeGreaterThan(until + 600)
    expect(await open().hold('a', 1)).toBeUndefined()
  })

  it('unused keys are removed', async () => {
    const { store, pool } = await openPostgres(0.3)
    await store.take('a', { limit: 10, window: 1 })
    const rows = async () => (await pool.query('SELECT key FROM parley.limit_rates')).rows.length
    expect(await rows()).toBe(1)
    await expect.poll(rows, { timeout: 5_000 }).toBe(0)
  })

  it('an invalid schema name is rejected at once, and calls fail while the database is unreachable', async () => {
    const pool = new pg.Pool({ connectionString: 'postgres://nobody@127.0.0.1:1/none' })
    onTestFinished(() => pool.end())
    expect(() => createPostgresLimits({ pool, schema: 'a"; DROP' })).toThrow('The schema must be a name')
    const store = createPostgresLimits({ pool })
    await expect(store.take('a', { limit: 1, window: 1 })).rejects.toThrow()
    await expect(store.hold('a', 1)).rejects.toThrow()
    await store.close()
  })
})

describe.runIf(hasMariadb)('limits in MySQL', () => {
  it('the places of a crashed process become free after a while, and unused keys are removed', async () => {
    const pool = await openMariadbPool()
    const store = openMysql(pool, 0.6)
    await store.take('a', { limit: 10, window: 0.1 })
    await pool.query(`INSERT INTO parley_limit_places VALUES ('a', 1, 'crashed', ${Date.now() + 600_000})`)
    expect(await store.hold('a', 1)).toBeUndefined()
    await pool.query(`UPDATE parley_limit_places SET until = ${Date.now() - 1_000}`)
    expect(await store.hold('a', 1)).toBeDefined()
    expect(await store.hold('a', 1)).toBeUndefined()
    const rows = async () => (await pool.query<[]>('SELECT 1 FROM parley_limit_rates'))[0].length
    await expect.poll(rows, { timeout: 5_000 }).toBe(0)
  })

  it('an invalid prefix is rejected at once, and calls fail while the database is unreachable', async () => {
    const pool = createPool('mysql://nobody@127.0.0.1:1/none')
    onTestFinished(() => pool.end())
    expect(() => createMysqlLimits({ pool, prefix: 'a`; DROP' })).toThrow('The prefix must be at most 30')
    const store = createMysqlLimits({ pool })
    await expect(store.take('a', { limit: 1, window: 1 })).rejects.toThrow()
    await store.close()
  })
})
