import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPool, type PoolConnection } from 'mysql2/promise'
import pg from 'pg'
import { type Clock, monotonicOf } from '../../src/core/base/clock.ts'
import { anonymous, ownerOf } from '../../src/core/protocol/model.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createMysqlLog, type MysqlPool } from '../../src/entries/mysql.ts'
import { createPostgresLog } from '../../src/stores/postgres/postgres-log.ts'
import { createSqliteLog } from '../../src/stores/sqlite/sqlite-log.ts'

/** What simulations run on, one after the other. */
export interface Storage {
  /** Starts a simulation. Returns the log of each replica, without tasks. */
  begin(clocks: SimulationClocks): readonly [TaskLog, TaskLog]
  /** Called before every call of a log, for storage that must learn the time. */
  beforeCall?(): Promise<unknown> | undefined
  /** Ends a simulation: removes its tasks. */
  finish(): Promise<void>
  close(): Promise<void>
}

export interface SimulationClocks {
  readonly replicas: readonly [Clock, Clock]
  /** The clock of storage that does not run in the processes of the replicas. */
  readonly store: Clock
}

/** One log in memory that both replicas share. */
export function createMemoryStorage(): Storage {
  return {
    begin({ store }) {
      const log = createMemoryLog({ clock: store })
      return [log, log]
    },
    finish: async () => {},
    close: async () => {},
  }
}

/** A SQLite file that both replicas open, each with its own clock. */
export async function createSqliteStorage(): Promise<Storage> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-simulation-'))
  let current: SimulationClocks | undefined
  const open = (replica: 0 | 1) => {
    const clock = createForwardingClock(() => current?.replicas[replica])
    return createSqliteLog({ file: join(directory, 'tasks.db'), clock })
  }
  const logs = [open(0), open(1)] as const
  return {
    begin(clocks) {
      current = clocks
      return logs
    },
    finish: () => eraseAll(logs[0]),
    async close() {
      for (const log of logs) await log.close()
      await rm(directory, { recursive: true })
    },
  }
}

/**
 * A PostgreSQL schema that both replicas use. Leases go by the clock of the database, so the simulation puts functions of
 * its own before those of PostgreSQL in the search path.
 */
export async function createPostgresStorage(url: string): Promise<Storage> {
  const administrator = new pg.Client(url)
  await administrator.connect()
  await administrator.query(`
    CREATE SCHEMA simulated_time;
    CREATE TABLE simulated_time.clock AS SELECT now() AS time;
    CREATE FUNCTION simulated_time.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT time FROM simulated_time.clock';
    CREATE FUNCTION simulated_time.statement_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE
      AS 'SELECT time FROM simulated_time.clock'`)
  const pool = new pg.Pool({ connectionString: url, options: '-c search_path=simulated_time,pg_catalog' })
  const open = () => createPostgresLog({ pool, schema: 'simulation' })
  const logs = [await open(), await open()] as const
  let clock: Clock | undefined
  let time: number | undefined
  return {
    begin(clocks) {
      clock = clocks.store
      return logs
    },
    beforeCall() {
      if (!clock || clock.now() === time) return undefined
      time = clock.now()
      return administrator.query('UPDATE simulated_time.clock SET time = to_timestamp($1::float8 / 1000)', [time])
    },
    finish: () => eraseAll(logs[0]),
    async close() {
      for (const log of logs) await log.close()
      await pool.end()
      await administrator.query('DROP SCHEMA simulation, simulated_time CASCADE')
      await administrator.end()
    },
  }
}

/**
 * Tables in MySQL that both replicas use. Leases go by the clock of the database, which every connection can set for
 * itself.
 */
export async function createMysqlStorage(url: string): Promise<Storage> {
  const pool = createPool(url)
  let clock: Clock | undefined
  const connect = async () => {
    const connection = await pool.getConnection()
    if (clock) await connection.query(`SET TIMESTAMP = ${clock.now() / 1000}`)
    return connection
  }
  const inTime = async <T>(run: (connection: PoolConnection) => Promise<T>) => {
    const connection = await connect()
    try {
      return await run(connection)
    } finally {
      connection.release()
    }
  }
  const timed: MysqlPool = {
    execute: (text, values) => inTime((connection) => connection.execute(text, values)),
    query: (text) => inTime((connection) => connection.query(text)),
    getConnection: connect,
  }
  const open = () => createMysqlLog({ pool: timed, prefix: 'simulation_' })
  const logs = [await open(), await open()] as const
  return {
    begin(clocks) {
      clock = clocks.store
      return logs
    },
    finish: () => eraseAll(logs[0]),
    async close() {
      for (const log of logs) await log.close()
      await pool.end()
    },
  }
}

async function eraseAll(log: TaskLog): Promise<void> {
  const owner = ownerOf(anonymous)
  while ((await log.erase({ owner }, 100)).length > 0);
}

/** The clock of the simulation that runs. */
function createForwardingClock(current: () => Clock | undefined): Clock {
  const clock = () => {
    const found = current()
    if (!found) throw new Error('no simulation runs')
    return found
  }
  return {
    now: () => clock().now(),
    monotonic: () => monotonicOf(clock())(),
    setTimeout: (act, milliseconds) => clock().setTimeout(act, milliseconds),
    setInterval: (act, milliseconds) => clock().setInterval(act, milliseconds),
    clearTimeout: (timer) => clock().clearTimeout(timer),
  }
}
