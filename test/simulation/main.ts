import { parseArgs } from 'node:util'
import { createConnection } from 'mysql2/promise'
import { findMariadb, startMariadb } from '../support/mariadb/server.ts'
import { startPostgresProcess } from '../support/postgres/server-process.ts'
import { describeFailure, simulateSeed } from './simulate.ts'
import {
  createMemoryStorage,
  createMysqlStorage,
  createPostgresStorage,
  createSqliteStorage,
  type Storage,
} from './storage.ts'

/** The number of lines of progress. */
const progressLines = 10

/** How each storage is opened, and how many schedules take some minutes on it. */
const stores: Readonly<Record<string, StoreChoice>> = {
  memory: { open: createMemoryStorage, schedules: 100_000 },
  sqlite: { open: createSqliteStorage, schedules: 5_000 },
  postgres: { open: openPostgres, schedules: 2_000 },
  mysql: { open: openMysql, schedules: 1_000 },
}

interface StoreChoice {
  readonly open: () => Storage | Promise<Storage>
  readonly schedules: number
}

/**
 * Runs seeded schedules until one breaks an invariant, and prints the shortest form of that one.
 *
 *     npm run simulate -- --seed 1 --schedules 100000 --store memory
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    schedules: { type: 'string' },
    store: { type: 'string', default: 'memory' },
  },
})
const store = stores[values.store]
if (!store) throw new Error(`--store: expected ${Object.keys(stores).join(', ')}, got ${values.store}`)
const first = readNumber('seed', values.seed)
const count = readNumber('schedules', values.schedules ?? `${store.schedules}`)
const begun = performance.now()
const storage = await store.open()
try {
  await simulateAll()
} finally {
  await storage.close()
}

async function simulateAll(): Promise<void> {
  for (let seed = first; seed < first + count; seed++) {
    const failure = await simulateSeed(seed, storage)
    if (failure) {
      console.error(describeFailure(failure))
      process.exitCode = 1
      return
    }
    const done = seed - first + 1
    if (done % Math.ceil(count / progressLines) === 0 && done < count) report(done)
  }
  report(count)
}

function report(done: number): void {
  const seconds = Math.round((performance.now() - begun) / 1000)
  console.log(`${done} schedules from seed ${first} on hold on ${values.store} (${seconds} s).`)
}

/** The server that `PARLEY_TEST_POSTGRES` names, or a new one that stops with this process. */
async function openPostgres(): Promise<Storage> {
  const url = process.env.PARLEY_TEST_POSTGRES
  if (url) return await createPostgresStorage(url)
  const server = await startPostgresProcess({ fsync: 'off' })
  const opened = await createPostgresStorage(server.url)
  return {
    ...opened,
    async close() {
      await opened.close()
      await server.stop()
    },
  }
}

/** A new MariaDB server that stops with this process. */
async function openMysql(): Promise<Storage> {
  const program = await findMariadb()
  if (program === undefined) throw new Error('--store mysql: there is no MariaDB server on this machine')
  const server = await startMariadb(program)
  const administrator = await createConnection(server.url)
  await administrator.query('CREATE DATABASE simulation')
  await administrator.end()
  const opened = await createMysqlStorage(`${server.url}simulation`)
  return {
    ...opened,
    async close() {
      await opened.close()
      await server.stop()
    },
  }
}

function readNumber(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new Error(`--${name}: expected a whole number, got ${text}`)
}
