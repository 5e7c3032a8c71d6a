import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import {
  createPostgresLimits,
  createPostgresLog,
  createPostgresOwnership,
  createPostgresRegistryStore,
  createPostgresReplayCache,
} from '../../src/entries/postgres.ts'
import type { PostgresLogOptions } from '../../src/stores/postgres/postgres-log.ts'
import { chunk, createTask, readGenerations, upTo } from '../../src/testing/stores/task-log/fixtures.ts'
import { silentLogger } from '../support/logger.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { hasPgbouncer, startPgbouncer } from '../support/postgres/pgbouncer.ts'

const never = new AbortController().signal

function openPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString })
  pool.on('error', () => {})
  onTestFinished(() => pool.end())
  return pool
}

async function openPools() {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  const pgbouncer = await startPgbouncer(database.url)
  onTestFinished(pgbouncer.stop)
  return { openPooled: () => openPool(pgbouncer.urlOf(database.url)), direct: openPool(database.url) }
}

async function open(options: PostgresLogOptions): Promise<TaskLog> {
  const log = await createPostgresLog(options)
  onTestFinished(() => log.close())
  return log
}

startServerFirst()
describe.runIf(hasPgbouncer)('PostgreSQL behind PgBouncer in transaction mode', () => {
  it('a direct connection wakes readers of another process, and without one they poll', async () => {
    const { openPooled, direct } = await openPools()
    const pool = openPooled()
    const hourly = { listening: 3_600_000, deaf: 3_600_000 }
    const writer = await open({ pool, prepare: false })
    const readers = [
      await open({ pool, prepare: false, listen: direct, pollInterval: hourly }),
      await open({ pool, prepare: false, pollInterval: { listening: 3_600_000, deaf: 20 } }),
    ]
    const taskId = await createTask(writer)
    for (const after of upTo(5)) {
      const waiting = readers.map((reader) => reader.wait(taskId, after, never))
      await writer.append(taskId, after, [chunk('x')], { fence: 1 })
      await Promise.all(waiting)
    }
    for (const reader of readers) expect(await readGenerations(reader, taskId)).toEqual([1, 2, 3, 4, 5, 6])
  })

  it('the other stores work without prepared statements', async () => {
    const { openPooled } = await openPools()
    const pool = openPooled()
    const limits = createPostgresLimits({ pool, prepare: false })
    onTestFinished(() => limits.close())
    const ownership = await createPostgresOwnership({ pool, prepare: false })
    const registry = await createPostgresRegistryStore({ pool, prepare: false })
    const cache = await createPostgresReplayCache({ pool, prepare: false })
    onTestFinished(() => cache.close())
    for (const _ of upTo(10)) {
      await Promise.all(
        upTo(5).flatMap((n) => [
          limits.take(`caller ${n}`, { limit: 1_000, window: 1 }),
          ownership.find({ agent: 'a', kind: 'task', id: `${n}` }),
          registry.get(`${n}`),
          cache.claim({ messageId: `${n}`, digest: 'd', until: Date.now() + 1_000 }),
        ]),
      )
    }
  })

  it('a log that prepares statements fails with advice', async () => {
    const { openPooled } = await openPools()
    const work = async () => {
      // The second one gets the connection of the first, which has a statement of the same name.
      for (const pool of [openPooled(), openPooled()]) await createTask(await open({ pool, logger: silentLogger }))
    }
    await expect(work()).rejects.toThrow('Set prepare: false behind PgBouncer in transaction mode')
  })
})
