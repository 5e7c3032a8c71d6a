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
import type { OpenLog, SharedPlace } from './task-log/opened-log.ts'
import { sharedLogContract, taskLogContract } from './task-log.ts'

const logs: readonly (readonly [string, OpenLog])[] = [
  ['memory', openMemoryLog],
  ['SQLite', () => openOne(makeSqlitePlace)],
  ['PostgreSQL', () => openOne(makePostgresPlace)],
]
const sharedPlaces: readonly (readonly [string, () => Promise<SharedPlace>])[] = [
  ['SQLite', makeSqlitePlace],
  ['PostgreSQL', makePostgresPlace],
]

startServerFirst()
for (const [name, open] of logs) describe(`task log: ${name}`, () => taskLogContract(open))
for (const [name, makePlace] of sharedPlaces) describe(`shared log: ${name}`, () => sharedLogContract(makePlace))

async function openMemoryLog() {
  const log = createMemoryLog()
  return { log, cleanup: () => log.close() }
}

async function openOne(makePlace: () => Promise<SharedPlace>) {
  const place = await makePlace()
  return { log: await place.open(), cleanup: place.cleanup }
}

async function makeSqlitePlace(): Promise<SharedPlace> {
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

async function makePostgresPlace(): Promise<SharedPlace> {
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
