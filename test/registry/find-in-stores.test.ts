import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { createPostgresRegistryStore } from '../../src/entries/postgres.ts'
import type { RegistryStore } from '../../src/entries/registry.ts'
import { createSqliteRegistryStore } from '../../src/entries/sqlite.ts'
import { migrations } from '../../src/stores/sqlite/migrations.ts'
import { entryOf } from '../../src/testing/stores/registry-store.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openMigratedPool } from '../support/postgres/pools.ts'
import { createRandom } from '../support/random.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { compareWithMemory } from './compare-with-memory.ts'

startServerFirst()

function closeAfterTest(entries: RegistryStore): RegistryStore {
  onTestFinished(() => entries.close())
  return entries
}

it('the SQLite store and the memory store return the same results for random queries', {
  timeout: 120_000,
}, async () => {
  const file = join(await temporaryDirectory(), 'registry.db')
  await compareWithMemory(closeAfterTest(createSqliteRegistryStore({ file })), createRandom(1))
})

it('the PostgreSQL store and the memory store return the same results for random queries', {
  timeout: 120_000,
}, async () => {
  const pool = await openMigratedPool()
  await compareWithMemory(closeAfterTest(await createPostgresRegistryStore({ pool })), createRandom(2))
})

it('opening a file without term counts counts the terms of existing entries', async () => {
  const file = join(await temporaryDirectory(), 'registry.db')
  const format = migrations.findIndex((sql) => sql.includes('registry_term_counts'))
  const db = new DatabaseSync(file)
  for (const sql of migrations.slice(0, format)) db.exec(sql)
  db.exec(`PRAGMA user_version = ${format}`)
  const add = db.prepare('INSERT INTO registry_agents (id, kind, name, seen, rank, entry) VALUES (?, ?, ?, 1, 0, ?)')
  for (const entry of [entryOf('tea-agent'), entryOf('news-agent')]) {
    add.run(entry.id, entry.kind, entry.name, JSON.stringify(entry))
    db.prepare('INSERT INTO registry_terms (term, name, id) VALUES (?, ?, ?)').run('c:prices', entry.name, entry.id)
  }
  db.close()
  const entries = closeAfterTest(createSqliteRegistryStore({ file }))
  expect((await entries.find({ terms: ['c:prices'], limit: 1 })).total).toBe(2)
  await entries.remove('tea-agent')
  expect((await entries.find({ terms: ['c:prices'], kind: 'mesh', limit: 1 })).total).toBe(1)
})
