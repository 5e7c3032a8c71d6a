import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createMariadbDatabase, hasMariadb } from '../support/mariadb/database.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { describeFailure, type Failure, runSchedule, scheduleOfSeed, simulateSeed } from './simulate.ts'
import {
  createMemoryStorage,
  createMysqlStorage,
  createPostgresStorage,
  createSqliteStorage,
  type Storage,
} from './storage.ts'

/** Far more than needed: the machine may be busy. */
const timeout = 300_000

/** Seeds that once broke an invariant, each by a bug that is fixed. */
const formerFailures = [352, 517, 717, 1821, 2597, 3481, 3492, 3680, 14457, 22101, 29178, 34187]

startServerFirst()

describe.each([
  ['memory', 3_000, createMemoryStorage],
  ['SQLite', 100, createSqliteStorage],
  ['PostgreSQL', 30, openPostgres],
  ...(hasMariadb ? [['MySQL', 20, openMysql] as const] : []),
] as const)('two replicas on %s', (_, schedules, createStorage) => {
  it(`they keep every promise in ${schedules} schedules`, { timeout }, async () => {
    await using storage = disposable(await createStorage())
    const failure = await firstFailure(schedules, storage)
    expect(failure && describeFailure(failure)).toBeUndefined()
  })

  it('they keep every promise in schedules that once broke one', { timeout }, async () => {
    await using storage = disposable(await createStorage())
    for (const seed of formerFailures) {
      const failure = await simulateSeed(seed, storage)
      expect(failure && describeFailure(failure)).toBeUndefined()
    }
  })
})

describe('the simulation', () => {
  it('the same seed has the same course on every store', { timeout }, async () => {
    const storages = [createMemoryStorage(), createMemoryStorage(), await createSqliteStorage()]
    for (const seed of [1, 2, 3, 4, 5]) {
      const traces: (readonly string[])[] = []
      for (const storage of storages) traces.push((await runSchedule(scheduleOfSeed(seed), storage, true)).trace)
      expect(traces[0]?.length).toBeGreaterThan(20)
      expect(traces[1]).toEqual(traces[0])
      expect(traces[2]).toEqual(traces[0])
    }
    for (const storage of storages) await storage.close()
  })

  it('a log that forgets a message is found, with a short schedule', { timeout }, async () => {
    const failure = await firstFailure(1_000, createBrokenStorage())
    expect(failure?.violations.map(({ rule }) => rule)).toContain('every call is answered')
    expect(failure?.schedule.actions.length).toBeLessThanOrEqual(3)
    expect(failure && describeFailure(failure)).toMatch(/^Seed \d+ breaks an invariant:\n/)
  })
})

async function firstFailure(schedules: number, storage: Storage): Promise<Failure | undefined> {
  for (let seed = 1; seed <= schedules; seed++) {
    const failure = await simulateSeed(seed, storage)
    if (failure) return failure
  }
  return undefined
}

/** A lease is released although there are messages that its holder has not read. */
function createBrokenStorage(): Storage {
  return {
    ...createMemoryStorage(),
    begin({ store }) {
      const log = createMemoryLog({ clock: store })
      const broken = {
        ...log,
        async release(taskId: string, fence: number, _: number, wakeAt?: number) {
          return await log.release(taskId, fence, (await log.head(taskId))?.generation ?? 0, wakeAt)
        },
      }
      return [broken, broken]
    },
  }
}

let database: ReturnType<typeof createDatabase> | undefined
afterAll(async () => (await database)?.drop())

async function openPostgres(): Promise<Storage> {
  database ??= createDatabase()
  return await createPostgresStorage((await database).url)
}

async function openMysql(): Promise<Storage> {
  return await createMysqlStorage((await createMariadbDatabase()).url)
}

function disposable(storage: Storage): Storage & AsyncDisposable {
  return { ...storage, [Symbol.asyncDispose]: () => storage.close() }
}
