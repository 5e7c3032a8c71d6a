import { createPool } from 'mysql2/promise'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { LimitStore } from '../../src/core/limits/limit-store.ts'
import { createMemoryLimits } from '../../src/core/limits/limit-store.ts'
import { createMysqlLimits, type MysqlLimits, type MysqlPool } from '../../src/entries/mysql.ts'
import { createPostgresLimits } from '../../src/entries/postgres.ts'
import type { PostgresLimits } from '../../src/stores/postgres/limit-store.ts'
import { migrations } from '../../src/stores/postgres/schema.ts'
import { limitStoreTests } from '../../src/testing/stores/limit-store.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { runSuite } from './run-suite.ts'

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
for (const [name, open] of Object.entries(stores)) {
  // The stores are closed when their test ends.
  describe(`limit store: ${name}`, () => runSuite(limitStoreTests, async () => ({ open, cleanup: async () => {} })))
}

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
