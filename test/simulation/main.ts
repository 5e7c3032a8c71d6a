import { parseArgs } from 'node:util'
import { startPostgresProcess } from '../support/postgres/server-process.ts'
import { describeFailure, simulateSeed } from './simulate.ts'
import { createMemoryStorage, createPostgresStorage, createSqliteStorage, type Storage } from './storage.ts'

/** Schedules between two lines of progress. */
const progressInterval = 10_000

const stores: Readonly<Record<string, () => Storage | Promise<Storage>>> = {
  memory: createMemoryStorage,
  sqlite: createSqliteStorage,
  postgres: openPostgres,
}

/**
 * Runs seeded schedules until one breaks an invariant, and prints the shortest form of that one.
 *
 *     npm run simulate -- --seed 1 --schedules 100000 --store memory
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    schedules: { type: 'string', default: '10000' },
    store: { type: 'string', default: 'memory' },
  },
})
const [first, count] = [readNumber('seed', values.seed), readNumber('schedules', values.schedules)]
const createStorage = stores[values.store]
if (!createStorage) throw new Error(`--store: expected ${Object.keys(stores).join(', ')}, got ${values.store}`)
const begun = performance.now()
const storage = await createStorage()
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
    if (done % progressInterval === 0 && done < count) report(done)
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

function readNumber(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 0) return number
  throw new Error(`--${name}: expected a whole number, got ${text}`)
}
