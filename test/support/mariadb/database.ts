import mysql from 'mysql2/promise'
import { afterAll, onTestFinished } from 'vitest'
import { findMariadb, type MariadbServer, startMariadb } from './server.ts'

const program = await findMariadb()

/** Whether this machine has a MariaDB server. `scripts/install-test-programs.ts` installs it where that is possible. */
export const hasMariadb = program !== undefined

if (!hasMariadb) console.warn('The MySQL store is not tested: there is no MariaDB server on this machine.')

let server: Promise<MariadbServer> | undefined

const pools: mysql.Pool[] = []

afterAll(async () => {
  for (const pool of pools.splice(0)) await pool.end()
  free.length = 0
  await (await server)?.stop()
  server = undefined
})

/** A database of a MariaDB server that runs until the tests of the file have ended. */
export interface MariadbDatabase {
  readonly pool: mysql.Pool
  /** Removes all data and leaves the database to the next test. */
  release(): Promise<void>
}

/** Databases that no test uses at the moment. Emptying one is much faster than creating its tables. */
const free: MariadbDatabase[] = []

export async function takeMariadbDatabase(): Promise<MariadbDatabase> {
  return free.pop() ?? (await createReusableDatabase())
}

async function createReusableDatabase(): Promise<MariadbDatabase> {
  const pool = await createMariadbPool()
  const database = {
    pool,
    async release() {
      const [tables] = await pool.query('SHOW TABLES')
      const names = (tables as object[]).flatMap((row) => Object.values(row) as string[])
      for (const name of names) {
        if (!/_(format|retention|registry_state)$/.test(name)) await pool.query(`DELETE FROM ${name}`)
      }
      await pool.query('UPDATE parley_retention SET last_run = NULL, expired = 0, forgotten = 0')
      await pool.query('UPDATE parley_registry_state SET mesh = 0, a2a = 0')
      free.push(database)
    },
  }
  return database
}

/** A new, empty database. Its pool is ended after the tests of the file. */
export async function createMariadbDatabase(): Promise<{ readonly url: string; readonly pool: mysql.Pool }> {
  server ??= startMariadb(program ?? '')
  const database = `test_${crypto.randomUUID().replaceAll('-', '')}`
  const administrator = await mysql.createConnection((await server).url)
  await administrator.query(`CREATE DATABASE ${database}`)
  await administrator.end()
  const url = `${(await server).url}${database}`
  const pool = mysql.createPool(url)
  pools.push(pool)
  return { url, pool }
}

/** A pool on a new, empty database. */
export async function createMariadbPool(): Promise<mysql.Pool> {
  return (await createMariadbDatabase()).pool
}

/** A pool for one test, on a database without data. */
export async function openMariadbPool(): Promise<mysql.Pool> {
  const { pool, release } = await takeMariadbDatabase()
  onTestFinished(release)
  return pool
}
