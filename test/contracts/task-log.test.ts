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
import type { TestStorage } from '../../src/testing/stores/store-test.ts'
import { operatorLogTests } from '../../src/testing/stores/task-log/operator.ts'
import { sharedTaskLogTests } from '../../src/testing/stores/task-log/sharing.ts'
import { taskLogTests } from '../../src/testing/stores/task-log.ts'
import { hasMariadb, takeMariadbDatabase } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { closingStorage, runSuite } from './run-suite.ts'
import { modelTests, sharedModelTests } from './task-log/model.ts'

const storages: readonly (readonly [string, () => Promise<TestStorage<TaskLog>>])[] = [
  ['SQLite', createSqliteStorage],
  ['PostgreSQL', createPostgresStorage],
  ...(hasMariadb ? [['MySQL', createMysqlStorage] as const] : []),
]

/** The number of random sequences of a durable log, each on new storage. A log without storage affords more. */
const modelRuns = 40

startServerFirst()
describe('task log: memory', () => {
  runSuite([...taskLogTests, ...operatorLogTests], createMemoryStorage)
  runSuite(modelTests(400), createMemoryStorage, 60_000)
})
for (const [name, createStorage] of storages) {
  describe(`task log: ${name}`, () => {
    runSuite([...taskLogTests, ...operatorLogTests, ...sharedTaskLogTests], createStorage)
    runSuite([...modelTests(modelRuns), ...sharedModelTests(modelRuns)], createStorage, 60_000)
  })
}

async function createMemoryStorage() {
  return closingStorage(async () => createMemoryLog())
}

async function createSqliteStorage() {
  const directory = await mkdtemp(join(tmpdir(), 'parley-log-'))
  return closingStorage(
    async () => createSqliteLog({ file: join(directory, 'made', 'tasks.db') }),
    () => rm(directory, { recursive: true }),
  )
}

async function createPostgresStorage() {
  const database = await takeDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  return closingStorage(
    () => createPostgresLog({ pool }),
    async () => {
      await pool.end()
      await database.release()
    },
  )
}

async function createMysqlStorage() {
  const { pool, release } = await takeMariadbDatabase()
  return closingStorage(() => createMysqlLog({ pool }), release)
}
