import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { describe } from 'vitest'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createMysqlLog } from '../../src/entries/mysql.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { hasMariadb, takeMariadbDatabase } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import type { SharedStorage } from './task-log/fixtures.ts'
import { sharedLogContract, taskLogContract } from './task-log.ts'

const storages: readonly (readonly [string, () => Promise<SharedStorage>])[] = [
  ['SQLite', createSqliteStorage],
  ['PostgreSQL', createPostgresStorage],
  ...(hasMariadb ? [['MySQL', createMysqlStorage] as const] : []),
]

startServerFirst()
describe('task log: memory', () => taskLogContract(openMemoryLog, { modelRuns: 400 }))
for (const [name, createStorage] of storages) {
  describe(`task log: ${name}`, () => taskLogContract(() => openOne(createStorage)))
  describe(`shared log: ${name}`, () => sharedLogContract(createStorage))
}

async function openMemoryLog() {
  const log = createMemoryLog()
  return { log, cleanup: () => log.close() }
}

async function openOne(createStorage: () => Promise<SharedStorage>) {
  const storage = await createStorage()
  return { log: await storage.open(), cleanup: storage.cleanup }
}

async function createSqliteStorage(): Promise<SharedStorage> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-log-'))
  const opened: TaskLog[] = []
  return {
    async open() {
      const log = createSqliteLog({ file: join(directory, 'made', 'tasks.db') })
      opened.push(log)
      return log
    },
    async cleanup() {
      for (const log of opened) await log.close()
      await rm(directory, { recursive: true })
    },
  }
}

async function createPostgresStorage(): Promise<SharedStorage> {
  const database = await takeDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  const opened: TaskLog[] = []
  return {
    async open() {
      const log = await createPostgresLog({ pool })
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

async function createMysqlStorage(): Promise<SharedStorage> {
  const { pool, release } = await takeMariadbDatabase()
  const opened: TaskLog[] = []
  return {
    async open() {
      const log = await createMysqlLog({ pool })
      opened.push(log)
      return log
    },
    async cleanup() {
      for (const log of opened) await log.close()
      await release()
    },
  }
}
