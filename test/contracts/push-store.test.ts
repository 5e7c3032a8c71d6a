import { join } from 'node:path'
import { describe } from 'vitest'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { createMemoryPushStore } from '../../src/push/memory-store.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { type PushPlace, pushStoreContract, sharedPushStoreContract } from './push-store.ts'

startServerFirst()
describe('push store: memory', () => pushStoreContract(makeMemoryPlace))
for (const [name, makePlace] of [
  ['SQLite', makeSqlitePlace],
  ['PostgreSQL', makePostgresPlace],
] as const) {
  describe(`push store: ${name}`, () => pushStoreContract(makePlace))
  describe(`shared push store: ${name}`, () => sharedPushStoreContract(makePlace))
}

async function makeMemoryPlace(): Promise<PushPlace> {
  const store = createMemoryPushStore()
  return { open: async () => store, cleanup: async () => {} }
}

async function makeSqlitePlace(): Promise<PushPlace> {
  const file = join(await temporaryDirectory(), 'tasks.db')
  return placeOf(async () => createSqliteLog({ file }))
}

async function makePostgresPlace(): Promise<PushPlace> {
  const pool = await openPool()
  return placeOf(() => createPostgresLog({ pool }))
}

function placeOf(openLog: () => Promise<Awaited<ReturnType<typeof createPostgresLog>>>): PushPlace {
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
