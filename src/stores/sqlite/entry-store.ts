import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { EntryQuery, EntryStore, RegistryEntry } from '../../registry/entry-store.ts'
import { nodeDriver, type SqliteDriver, type SqliteValue } from './driver.ts'
import { createTransaction } from './transaction.ts'

export interface SqliteEntriesOptions {
  /** Where it lies; made with its directory if it is not there. */
  readonly file: string
  readonly driver?: SqliteDriver
  /** 100,000 unless it is given. */
  readonly capacity?: number
}

const schema = `
  CREATE TABLE IF NOT EXISTS registry_entries (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    seen INTEGER NOT NULL,
    trouble TEXT,
    -- What does not change between two registrations, as JSON.
    entry TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS registry_by_name ON registry_entries (name, id);
  CREATE INDEX IF NOT EXISTS registry_by_age ON registry_entries (seen);
  CREATE TABLE IF NOT EXISTS registry_capabilities (
    capability TEXT NOT NULL,
    id TEXT NOT NULL REFERENCES registry_entries (id) ON DELETE CASCADE,
    PRIMARY KEY (capability, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS registry_capabilities_of ON registry_capabilities (id);
`

interface Row {
  readonly id: string
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  readonly entry: string
}

/** The entries of a registry in one file. */
export function createSqliteEntries(options: SqliteEntriesOptions): EntryStore {
  const { file, driver = nodeDriver, capacity = 100_000 } = options
  mkdirSync(dirname(file), { recursive: true })
  const db = driver(file)
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON')
  db.exec(schema)
  const transaction = createTransaction(db)
  const select = db.prepare('SELECT id, seen, trouble, entry FROM registry_entries WHERE id = ?')
  const count = db.prepare('SELECT count(*) AS total FROM registry_entries')
  const drop = db.prepare('DELETE FROM registry_entries WHERE id = ?')
  const add = db.prepare('INSERT INTO registry_entries (id, name, seen, trouble, entry) VALUES (?, ?, ?, ?, ?)')
  const offer = db.prepare('INSERT OR IGNORE INTO registry_capabilities (capability, id) VALUES (?, ?)')
  const see = db.prepare('UPDATE registry_entries SET seen = max(seen, ?) WHERE id = ?')
  const seeAs = db.prepare('UPDATE registry_entries SET seen = max(seen, ?), trouble = ? WHERE id = ?')
  const expire = db.prepare(
    'DELETE FROM registry_entries WHERE id IN (SELECT id FROM registry_entries WHERE seen < ? LIMIT ?) RETURNING id',
  )

  function get(id: string): RegistryEntry | undefined {
    const row = select.get(id) as Row | undefined
    return row && entryOf(row)
  }

  return {
    async put({ seen, trouble, ...entry }) {
      return transaction(() => {
        const { total } = count.get() as { readonly total: number }
        if (Number(drop.run(entry.id).changes) === 0 && total >= capacity) return false
        add.run(entry.id, entry.card.name, seen, trouble ?? null, JSON.stringify(entry))
        for (const capability of entry.card.capabilities) offer.run(capability, entry.id)
        return true
      })
    },
    get: async (id) => get(id),
    async touch(id, seen, trouble) {
      if (trouble === undefined) see.run(seen, id)
      else seeAs.run(seen, trouble, id)
      return get(id)
    },
    remove: async (id) => Number(drop.run(id).changes) > 0,
    async find({ limit, ...query }) {
      const { where, values } = conditionOf(query)
      const counted = db.prepare(`SELECT count(*) AS total FROM registry_entries e ${where}`).get(...values)
      const rows = db
        .prepare(`SELECT id, seen, trouble, entry FROM registry_entries e ${where} ORDER BY name, id LIMIT ?`)
        .all(...values, limit)
      return { entries: (rows as Row[]).map(entryOf), total: (counted as { readonly total: number }).total }
    },
    expire: async (seenBefore, limit) => (expire.all(seenBefore, limit) as { id: string }[]).map(({ id }) => id),
    async close() {
      db.close()
    },
  }
}

function conditionOf({ capabilities = [], health }: Omit<EntryQuery, 'limit'>) {
  const values: SqliteValue[] = [...capabilities]
  const conditions = capabilities.map(() => 'e.id IN (SELECT id FROM registry_capabilities WHERE capability = ?)')
  if (health) {
    conditions.push(`(trouble IS NULL AND seen >= ?) = ${health.isHealthy ? 1 : 0}`)
    values.push(health.since)
  }
  return { where: conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : '', values }
}

function entryOf({ seen, trouble, entry }: Row): RegistryEntry {
  return { ...JSON.parse(entry), seen, ...(trouble && { trouble }) }
}
