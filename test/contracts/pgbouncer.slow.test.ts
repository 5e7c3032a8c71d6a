import pg from 'pg'
import { afterAll, describe } from 'vitest'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../support/postgres/pgbouncer.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import type { SharedStorage } from './task-log/fixtures.ts'
import { sharedLogContract, taskLogContract } from './task-log.ts'

let pgbouncer: Promise<Pgbouncer> | undefined

async function createStorage(): Promise<SharedStorage> {
  const database = await takeDatabase()
  pgbouncer ??= startPgbouncer(database.url)
  const pool = new pg.Pool({ connectionString: (await pgbouncer).urlOf(database.url) })
  const opened: TaskLog[] = []
  return {
    async open() {
      const log = await createPostgresLog({ pool, prepare: false })
      opened.push(log)
      return log
    },
    async cleanup() {
      for (const log of opened) await log.close()
      await pool.end()
      await database.release()
    },
  }
}

startServerFirst()
afterAll(async () => await (await pgbouncer)?.stop())
describe.runIf(hasPgbouncer)('PostgreSQL behind PgBouncer in transaction mode', () => {
  taskLogContract(async () => {
    const { open, cleanup } = await createStorage()
    return { log: await open(), cleanup }
  })
  sharedLogContract(createStorage)
})
