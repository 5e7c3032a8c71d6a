import pg from 'pg'
import { afterAll, describe } from 'vitest'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { operatorLogTests } from '../../src/testing/stores/task-log/operator.ts'
import { sharedTaskLogTests } from '../../src/testing/stores/task-log/sharing.ts'
import { taskLogTests } from '../../src/testing/stores/task-log.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../support/postgres/pgbouncer.ts'
import { takeDatabase } from '../support/postgres/reusable-database.ts'
import { closingStorage, runSuite } from './run-suite.ts'
import { modelTests, sharedModelTests } from './task-log/model.ts'

let pgbouncer: Promise<Pgbouncer> | undefined

async function createStorage() {
  const database = await takeDatabase()
  pgbouncer ??= startPgbouncer(database.url)
  const pool = new pg.Pool({ connectionString: (await pgbouncer).urlOf(database.url) })
  return closingStorage(
    () => createPostgresLog({ pool, prepare: false }),
    async () => {
      await pool.end()
      await database.release()
    },
  )
}

startServerFirst()
afterAll(async () => await (await pgbouncer)?.stop())
describe.runIf(hasPgbouncer)('PostgreSQL behind PgBouncer in transaction mode', () => {
  runSuite([...taskLogTests, ...operatorLogTests, ...sharedTaskLogTests], createStorage)
  runSuite([...modelTests(40), ...sharedModelTests(40)], createStorage, 60_000)
})
