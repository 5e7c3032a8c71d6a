import { defined, type JsonObject } from '../../core/base/json.ts'
import { aFunction, checkOptions, type OptionChecks, text } from '../../core/base/options.ts'
import type { OwnershipRecord, OwnershipStore } from '../../core/tasks/ownership.ts'
import { type SqliteDriver, withSecureDelete, withStoreErrors } from './connection.ts'
import { nodeDriver } from './node-driver.ts'
import { createPrivateFile } from './schema.ts'

/** Options of `createSqliteOwnership`. */
export interface SqliteOwnershipOptions {
  /** The database file, created with its directory if missing. It holds nothing else. */
  readonly file: string
  /** Opens the file. Defaults to `node:sqlite`. */
  readonly driver?: SqliteDriver
  readonly now?: () => number
}

const optionChecks: OptionChecks<SqliteOwnershipOptions> = { file: text, driver: aFunction, now: aFunction }

/** Stores ownership records in one SQLite file, which several processes may share. */
export function createSqliteOwnership(options: SqliteOwnershipOptions): OwnershipStore {
  checkOptions('createSqliteOwnership', options, optionChecks, ['file'])
  const { file, driver = nodeDriver, now = Date.now } = options
  if (file !== ':memory:') createPrivateFile(file)
  const db = driver(file)
  // A record that a power failure loses makes its task invisible, which is safe; the file stays consistent.
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL')
  db.exec(`
    CREATE TABLE IF NOT EXISTS ownership (
      number INTEGER PRIMARY KEY AUTOINCREMENT,
      agent TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
      owner TEXT NOT NULL, remote_id TEXT NOT NULL, context_id TEXT, data TEXT, created REAL NOT NULL,
      UNIQUE (agent, kind, id));
    CREATE INDEX IF NOT EXISTS ownership_remote ON ownership (agent, kind, remote_id);
    CREATE INDEX IF NOT EXISTS ownership_owner ON ownership (agent, kind, owner, number);
    CREATE INDEX IF NOT EXISTS ownership_created ON ownership (created)`)
  const columns = 'number, agent, kind, id, owner, remote_id, context_id, data'
  const insert = db.prepare(`
    INSERT INTO ownership (agent, kind, id, owner, remote_id, context_id, data, created)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (agent, kind, id) DO NOTHING`)
  const select = db.prepare(`SELECT ${columns} FROM ownership WHERE agent = ? AND kind = ? AND id = ?`)
  const selectRemote = db.prepare(
    `SELECT ${columns} FROM ownership WHERE agent = ? AND kind = ? AND remote_id = ? ORDER BY number LIMIT 1`,
  )
  const owned = 'agent = ? AND kind = ? AND owner = ? AND (? IS NULL OR context_id = ?)'
  const selectOwned = db.prepare(
    `SELECT ${columns} FROM ownership WHERE ${owned} AND number < ? ORDER BY number DESC LIMIT ?`,
  )
  const count = db.prepare(`SELECT count(*) AS total FROM ownership WHERE ${owned}`)
  const remove = db.prepare('DELETE FROM ownership WHERE agent = ? AND kind = ? AND id = ?')
  const removeOld = db.prepare(
    'DELETE FROM ownership WHERE number IN (SELECT number FROM ownership WHERE created < ? LIMIT ?)',
  )
  let isClosed = false

  const store: OwnershipStore = {
    async claim(record) {
      const { agent, kind, id, owner, remoteId, contextId = null, data } = record
      const text = data === undefined ? null : JSON.stringify(data)
      const { changes } = insert.run(agent, kind, id, owner, remoteId, contextId, text, now())
      return changes ? record : decode(select.get(agent, kind, id) as Row)
    },
    async find({ agent, kind, id }) {
      const row = select.get(agent, kind, id) as Row | undefined
      return row && decode(row)
    },
    async findRemote({ agent, kind, remoteId }) {
      const row = selectRemote.get(agent, kind, remoteId) as Row | undefined
      return row && decode(row)
    },
    async list({ agent, kind, owner, contextId = null, cursor = Number.MAX_SAFE_INTEGER, limit }) {
      const scope = [agent, kind, owner, contextId, contextId] as const
      const rows = selectOwned.all(...scope, cursor, limit + 1) as Row[]
      const page = rows.slice(0, limit)
      const { total } = count.get(...scope) as { readonly total: number }
      const next = rows.length > limit ? page.at(-1)?.number : undefined
      return defined({ records: page.map(decode), total, next })
    },
    remove: async ({ agent, kind, id }) => withSecureDelete(db, () => remove.run(agent, kind, id).changes > 0),
    expire: async (before, limit) => withSecureDelete(db, () => Number(removeOld.run(before, limit).changes)),
    async close() {
      if (!isClosed) db.close()
      isClosed = true
    },
  }
  return withStoreErrors(store, file, 'The ownership store')
}

interface Row {
  readonly number: number
  readonly agent: string
  readonly kind: OwnershipRecord['kind']
  readonly id: string
  readonly owner: string
  readonly remote_id: string
  readonly context_id: string | null
  readonly data: string | null
}

function decode({ agent, kind, id, owner, remote_id, context_id, data }: Row): OwnershipRecord {
  const contextId = context_id ?? undefined
  const parsed = data === null ? undefined : (JSON.parse(data) as JsonObject)
  return defined({ agent, kind, id, owner, remoteId: remote_id, contextId, data: parsed })
}
