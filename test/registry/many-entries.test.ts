import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import type { EntryStore } from '../../src/registry/index.ts'
import { createPostgresEntries } from '../../src/stores/postgres/index.ts'
import { createSqliteEntries } from '../../src/stores/sqlite/index.ts'
import { entryOf, put } from '../contracts/registry-entries.ts'
import { startServerFirst } from '../support/postgres/database.ts'
import { openPool } from '../support/postgres/place.ts'
import { createRandom } from '../support/random.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { findsAsInMemory } from './many-entries.ts'

startServerFirst()

function closing(entries: EntryStore): EntryStore {
  onTestFinished(() => entries.close())
  return entries
}

it('SQLite finds among many what memory finds, whatever is asked', { timeout: 120_000 }, async () => {
  const file = join(await temporaryDirectory(), 'registry.db')
  await findsAsInMemory(closing(createSqliteEntries({ file })), createRandom(1))
})

it('PostgreSQL finds among many what memory finds, whatever is asked', { timeout: 120_000 }, async () => {
  const pool = await openPool()
  await findsAsInMemory(closing(await createPostgresEntries({ pool })), createRandom(2))
})

it('what was stored before anybody counted it is counted when the file is opened', async () => {
  const file = join(await temporaryDirectory(), 'registry.db')
  const before = createSqliteEntries({ file })
  for (const id of ['tea-agent', 'news-agent']) await put(before, entryOf(id), ['c:prices'])
  await before.close()
  const db = new DatabaseSync(file)
  db.exec('DROP TABLE registry_term_counts')
  const { user_version: format } = db.prepare('PRAGMA user_version').get() as { user_version: number }
  db.exec(`PRAGMA user_version = ${format - 1}`)
  db.close()
  const entries = closing(createSqliteEntries({ file }))
  expect((await entries.find({ terms: ['c:prices'], limit: 1 })).total).toBe(2)
  await entries.remove('tea-agent')
  expect((await entries.find({ terms: ['c:prices'], kind: 'mesh', limit: 1 })).total).toBe(1)
})
