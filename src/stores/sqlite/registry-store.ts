import { defined } from '../../core/base/json.ts'
import { aFunction, checkOptions, integer, type OptionChecks, text } from '../../core/base/options.ts'
import type {
  ChangePage,
  ChangeType,
  EntryIndex,
  EntryKind,
  PutResult,
  RegistryEntry,
  RegistryStore,
  StoredChange,
  UnhealthyReason,
} from '../../registry/entry.ts'
import { createPolledWakeups } from '../shared/polled-wakeups.ts'
import { type SqliteDatabase, type SqliteDriver, withStoreErrors } from './connection.ts'
import { createTransaction } from './group-commit.ts'
import { nodeDriver } from './node-driver.ts'
import { createPrepare, createSqliteOperatorState } from './operator-state.ts'
import {
  createFindEntries,
  createTermIndex,
  decodeEntry,
  type EntryRow,
  encodeEntry,
  entryColumns,
  type RegistryState,
} from './registry-search.ts'
import { openDatabase } from './schema.ts'

/** Polling interval for changes of other processes while a reader waits, in milliseconds. */
const pollInterval = 250

/** Options of `createSqliteRegistryStore`. */
export interface SqliteRegistryStoreOptions {
  /** The database file, created with its directory if missing. It may be the file of a task log. */
  readonly file: string
  /** Opens the file. Defaults to `node:sqlite`. */
  readonly driver?: SqliteDriver
  /** Maximum number of entries. Defaults to 100,000. */
  readonly capacity?: number
  /** Number of changes to keep for readers of the change stream. Defaults to 10,000. */
  readonly changesKept?: number
}

const optionChecks: OptionChecks<SqliteRegistryStoreOptions> = {
  file: text,
  driver: aFunction,
  capacity: integer({ min: 1 }),
  changesKept: integer(),
}

/** Stores the entries of a registry in one SQLite file, which several processes may share. */
export function createSqliteRegistryStore(options: SqliteRegistryStoreOptions): RegistryStore {
  checkOptions('createSqliteRegistryStore', options, optionChecks, ['file'])
  const { file, driver = nodeDriver, capacity = 100_000, changesKept = 10_000 } = options
  const db = openDatabase(file, driver)
  // Agents register again, so a power failure may lose the last changes; the file stays consistent.
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = NORMAL')
  const transaction = createTransaction(db)
  const wakeups = createPolledWakeups(pollInterval)
  const changes = createChanges(db, changesKept)
  const entries = createEntries(db, changes, capacity)
  const { wakeAll } = wakeups
  let isClosed = false

  /** Commits, and wakes waiting readers. */
  function change<T>(work: () => T): T {
    const result = transaction(work)
    wakeAll()
    return result
  }

  const store: RegistryStore = {
    put: async (entry, index, { maxOwned } = {}) => change(() => entries.put(entry, index, maxOwned)),
    note: async (entry, index, changed) => change(() => entries.note(entry, index, changed)),
    get: async (id) => entries.get(id),
    touch: async (id, seen, trouble) =>
      trouble === undefined ? entries.setSeen(id, seen) : change(() => entries.setTrouble(id, seen, trouble)),
    remove: async (id) => change(() => entries.remove(id)),
    find: async (query) => entries.find(query),
    expire: async (kind, seenBefore, limit) => change(() => entries.expire(kind, seenBefore, limit)),
    due: async (by, limit) => entries.due(by, limit),
    schedule: async (id, due) => entries.schedule(id, due),
    ...createCatalogs(db),
    changes: async (after, limit) => changes.read(after, limit),
    async wait(after, signal) {
      if (isClosed || changes.state().number > after) return
      await wakeups.wait('', signal)
    },
    lease: createLease(db),
    async close() {
      if (isClosed) return
      isClosed = true
      wakeups.close()
      db.close()
    },
  }
  const run = async <T>(work: () => T) => work()
  const state = createSqliteOperatorState(createPrepare(db), {
    query: run,
    now: Date.now,
    write: async (work) => transaction(work),
  })
  return {
    ...withStoreErrors(store, file, 'The registry'),
    operator: {
      values: withStoreErrors(state.values, file, 'The registry'),
      records: withStoreErrors(state.records, file, 'The registry'),
    },
  }
}

/** The numbered changes, of which the last ones are kept for readers. */
function createChanges(db: SqliteDatabase, changesKept: number) {
  const selectState = db.prepare('SELECT number, mesh, a2a, mesh + a2a AS "all" FROM registry_state')
  const advanceState = db.prepare(
    'UPDATE registry_state SET number = number + 1, mesh = mesh + ?, a2a = a2a + ? RETURNING number',
  )
  const insert = db.prepare('INSERT INTO registry_changes (number, type, id) VALUES (?, ?, ?)')
  const dropOld = db.prepare('DELETE FROM registry_changes WHERE number <= ?')
  const select = db.prepare('SELECT number, type, id FROM registry_changes WHERE number > ? ORDER BY number LIMIT ?')
  const state = () => selectState.get() as RegistryState

  return {
    state,
    /** Numbers a change and stores it for readers. Called in a transaction. */
    record(type: ChangeType, id: string, mesh = 0, a2a = 0): void {
      const { number } = advanceState.get(mesh, a2a) as { readonly number: number }
      insert.run(number, type, id)
      dropOld.run(number - changesKept)
    },
    read(after: number, limit: number): ChangePage {
      const { number: latest } = state()
      if (after > latest || after < latest - changesKept) return { changes: undefined, latest }
      const rows = select.all(after, limit) as StoredChange[]
      // Another process may keep fewer changes.
      const isComplete = after === latest || rows[0]?.number === after + 1
      return { changes: isComplete ? rows.map((row) => ({ ...row })) : undefined, latest }
    },
  }
}

/** The entries and their search terms. Methods that change several tables are called in a transaction. */
function createEntries(db: SqliteDatabase, changes: ReturnType<typeof createChanges>, capacity: number) {
  const select = db.prepare(`SELECT ${entryColumns} FROM registry_agents WHERE id = ?`)
  const deleteAgent = db.prepare('DELETE FROM registry_agents WHERE id = ? RETURNING kind')
  const upsert = db.prepare(
    `INSERT OR REPLACE INTO registry_agents (${entryColumns}, rank, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const setSeen = db.prepare('UPDATE registry_agents SET seen = max(seen, ?) WHERE id = ?')
  const setSeenAndTrouble = db.prepare('UPDATE registry_agents SET seen = max(seen, ?), trouble = ? WHERE id = ?')
  const selectOld = db.prepare('SELECT id FROM registry_agents WHERE kind = ? AND seen < ? ORDER BY seen LIMIT ?')
  const selectDue = db.prepare(`SELECT ${entryColumns} FROM registry_agents WHERE due <= ? ORDER BY due LIMIT ?`)
  const setDue = db.prepare('UPDATE registry_agents SET due = ? WHERE id = ?')
  const countOwned = db.prepare('SELECT count(*) AS total FROM registry_agents WHERE owner = ?')
  const termIndex = createTermIndex(db)

  function get(id: string): RegistryEntry | undefined {
    const row = select.get(id) as EntryRow | undefined
    return row && decodeEntry(row)
  }

  function write(entry: RegistryEntry, index: EntryIndex): void {
    termIndex.replace(get(entry.id), entry, index.terms)
    upsert.run(...encodeEntry(entry), Math.round(index.rank), index.due ?? null)
  }

  function remove(id: string): boolean {
    const dropped = deleteAgent.get(id) as { readonly kind: EntryKind } | undefined
    if (!dropped) return false
    termIndex.remove(id, dropped.kind)
    changes.record('removed', id, dropped.kind === 'mesh' ? -1 : 0, dropped.kind === 'a2a' ? -1 : 0)
    return true
  }

  return {
    get,
    remove,
    find: createFindEntries(db, termIndex, changes.state),
    put(entry: RegistryEntry, index: EntryIndex, maxOwned: number | undefined): PutResult {
      const existing = get(entry.id)
      if (existing && existing.owner !== entry.owner) return 'taken'
      if (!existing && changes.state().all >= capacity) return 'full'
      if (!existing && maxOwned !== undefined && entry.owner !== undefined) {
        const { total } = countOwned.get(entry.owner) as { readonly total: number }
        if (total >= maxOwned) return 'crowded'
      }
      write(entry, index)
      if (existing) changes.record('updated', entry.id)
      else changes.record('registered', entry.id, entry.kind === 'mesh' ? 1 : 0, entry.kind === 'a2a' ? 1 : 0)
      return existing ? 'replaced' : 'added'
    },
    note({ owner: _, ...entry }: RegistryEntry, index: EntryIndex, changed: ChangeType | undefined): boolean {
      const existing = get(entry.id)
      if (!existing) return false
      write({ ...entry, ...defined({ owner: existing.owner }) }, index)
      if (changed) changes.record(changed, entry.id)
      return true
    },
    setSeen(id: string, seen: number): RegistryEntry | undefined {
      setSeen.run(seen, id)
      return get(id)
    },
    setTrouble(id: string, seen: number, trouble: UnhealthyReason | null): RegistryEntry | undefined {
      const existing = get(id)
      setSeenAndTrouble.run(seen, trouble, id)
      if (existing && (existing.trouble ?? null) !== trouble) changes.record('status', id)
      return get(id)
    },
    expire(kind: EntryKind, seenBefore: number, limit: number): readonly string[] {
      const ids = (selectOld.all(kind, seenBefore, limit) as { id: string }[]).map(({ id }) => id)
      for (const id of ids) remove(id)
      return ids
    },
    due: (by: number, limit: number) => (selectDue.all(by, limit) as EntryRow[]).map(decodeEntry),
    schedule(id: string, due: number): void {
      setDue.run(due, id)
    },
  }
}

function createCatalogs(db: SqliteDatabase): Pick<RegistryStore, 'catalogs' | 'keepCatalog' | 'dropCatalog'> {
  const select = db.prepare('SELECT catalog FROM registry_catalogs ORDER BY url')
  const upsert = db.prepare('INSERT OR REPLACE INTO registry_catalogs (url, catalog) VALUES (?, ?)')
  const remove = db.prepare('DELETE FROM registry_catalogs WHERE url = ?')
  return {
    async catalogs() {
      return (select.all() as { readonly catalog: string }[]).map(({ catalog }) => JSON.parse(catalog))
    },
    async keepCatalog(catalog) {
      upsert.run(catalog.url, JSON.stringify(catalog))
    },
    dropCatalog: async (url) => remove.run(url).changes > 0,
  }
}

function createLease(db: SqliteDatabase): RegistryStore['lease'] {
  const acquire = db.prepare(`
    INSERT INTO registry_leases (name, holder, until) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE holder = excluded.holder OR until <= ? RETURNING name`)
  return async (name, holder, ttl) => {
    const time = Date.now()
    return acquire.get(name, holder, time + ttl, time) !== undefined
  }
}
