import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, describe } from 'vitest'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import { createMemoryLog } from '../../src/tasks/memory-log.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import type { OpenLog, SharedStorage } from './task-log/fixtures.ts'
import { sharedLogContract, taskLogContract } from './task-log.ts'

const logs: readonly (readonly [string, OpenLog])[] = [
  ['memory', openMemoryLog],
  ['SQLite', () => openOne(createSqliteStorage)],
  ['PostgreSQL', () => openOne(createPostgresStorage)],
]
const sharedStorages: readonly (readonly [string, () => Promise<SharedStorage>])[] = [
  ['SQLite', createSqliteStorage],
  ['PostgreSQL', createPostgresStorage],
]

startServerFirst()
for (const [name, open] of logs) describe(`task log: ${name}`, () => taskLogContract(open))
for (const [name, createStorage] of sharedStorages)
  describe(`shared log: ${name}`, () => sharedLogContract(createStorage))

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

let postgres: Promise<{ readonly pool: pg.Pool; readonly end: () => Promise<void> }> | undefined
let schemas = 0
afterAll(async () => (await postgres)?.end())

async function openPostgres() {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  return {
    pool,
    async end() {
      await pool.end()
      await database.drop()
    },
  }
}

async function createPostgresStorage(): Promise<SharedStorage> {
  postgres ??= openPostgres()
  const { pool } = await postgres
  const schema = `place_${++schemas}`
  const opened: TaskLog[] = []
  return {
    async open() {
      const log = await createPostgresLog({ pool, schema })
      opened.push(log)
      return log
    },
    async cleanup() {
      for (const log of opened) await log.close()
      await pool.query(`DROP SCHEMA "${schema}" CASCADE`)
    },
  }
}
