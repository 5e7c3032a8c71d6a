import { join } from 'node:path'
import { describe } from 'vitest'
import { createMemoryPushStore } from '../../src/core/push/memory-store.ts'
import type { PushStore } from '../../src/core/push/store.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createMysqlLog } from '../../src/entries/mysql.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { pushStoreTests, sharedPushStoreTests } from '../../src/testing/stores/push-store.ts'
import type { TestStorage } from '../../src/testing/stores/store-test.ts'
import { hasMariadb, openMariadbPool } from '../support/mariadb/database.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { runSuite } from './run-suite.ts'

startServerFirst()
describe('push store: memory', () => runSuite(pushStoreTests, createMemoryStorage))
for (const [name, createStorage] of [
  ['SQLite', createSqliteStorage],
  ['PostgreSQL', createPostgresStorage],
  ...(hasMariadb ? [['MySQL', createMysqlStorage] as const] : []),
] as const) {
  describe(`push store: ${name}`, () => runSuite([...pushStoreTests, ...sharedPushStoreTests], createStorage))
}

async function createMemoryStorage(): Promise<TestStorage<PushStore>> {
  const store = createMemoryPushStore()
  return { open: async () => store, cleanup: async () => {} }
}

async function createSqliteStorage(): Promise<TestStorage<PushStore>> {
  const file = join(await temporaryDirectory(), 'tasks.db')
  return storageOf(async () => createSqliteLog({ file }))
}

async function createPostgresStorage(): Promise<TestStorage<PushStore>> {
  const pool = await openMigratedPool()
  return storageOf(() => createPostgresLog({ pool }))
}

async function createMysqlStorage(): Promise<TestStorage<PushStore>> {
  const pool = await openMariadbPool()
  return storageOf(() => createMysqlLog({ pool }))
}

function storageOf(openLog: () => Promise<Awaited<ReturnType<typeof createPostgresLog>>>): TestStorage<PushStore> {
  const logs: TaskLog[] = []
  return {
    async open() {
      const log = await openLog()
      logs.push(log)
      return log.webhooks
    },
    async cleanup() {
      for (const log of logs) await log.close()
    },
  }
}
