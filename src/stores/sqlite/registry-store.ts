import { BoundedMap } from '../../base/bounded-map.ts'
import type {
  ChangeType,
  EntryKind,
  EntryQuery,
  RegistryEntry,
  RegistryStore,
  StoredChange,
} from '../../registry/entry.ts'
import { createWakeups } from '../../tasks/follow.ts'
import {
  commonSize,
  countStatements,
  createCountCache,
  type EntrySizes,
  type EntryStatement,
  healthSizeStatement,
  needsHealthSize,
  pageStatement,
  planQuery,
  type QueryPlan,
} from '../registry-query.ts'
import { type SqliteDatabase, type SqliteDriver, type SqliteStatement, withStoreErrors } from './connection.ts'
import { createTransaction } from './group-commit.ts'
import { nodeDriver } from './node-driver.ts'
import { openDatabase } from './schema.ts'

const columns = 'id, name, kind, owner, seen, trouble, entry'

/** Polling interval for changes of other processes while a reader waits, in milliseconds. */
const pollInterval = 250

/** Number of prepared search statements to cache. */
const maxPrepared = 100

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

/** Stores the entries of a registry in one SQLite file, which several processes may share. */
export function createSqliteRegistryStore(options: SqliteRegistryStoreOptions): RegistryStore {
  const { file, driver = nodeDriver, capacity = 100_000, changesKept = 10_000 } = options
  const db = openDatabase(file, driver)
  // Agents register again, so a power failure may lose the last changes; the file stays consistent.
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = NORMAL')
  const transaction = createTransaction(db)
  const select = db.prepare(`SELECT ${columns} FROM registry_agents WHERE id = ?`)
  const selectState = db.prepare('SELECT number, mesh, a2a, mesh + a2a AS "all" FROM registry_state')
  const advanceState = db.prepare(
    'UPDATE registry_state SET number = number + 1, mesh = mesh + ?, a2a = a2a + ? RETURNING number',
  )
  const insertChange = db.prepare('INSERT INTO registry_changes (number, type, id) VALUES (?, ?, ?)')
  const dropChanges = db.prepare('DELETE FROM registry_changes WHERE number <= ?')
  const selectChanges = db.prepare(
    'SELECT number, type, id FROM registry_changes WHERE number > ? ORDER BY number LIMIT ?',
  )
  const deleteAgent = db.prepare('DELETE FROM registry_agents WHERE id = ? RETURNING kind')
  const upsert = db.prepare(
    `INSERT OR REPLACE INTO registry_agents (${columns}, rank, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const setSeen = db.prepare('UPDATE registry_agents SET seen = max(seen, ?) WHERE id = ?')
  const setSeenAndTrouble = db.prepare('UPDATE registry_agents SET seen = max(seen, ?), trouble = ? WHERE id = ?')
  const selectOld = db.prepare('SELECT id FROM registry_agents WHERE kind = ? AND seen < ? ORDER BY seen LIMIT ?')
  const selectDue = db.prepare(`SELECT ${columns} FROM registry_agents WHERE due <= ? ORDER BY due LIMIT ?`)
  const setDue = db.prepare('UPDATE registry_agents SET due = ? WHERE id = ?')
  const acquireLease = db.prepare(`
    INSERT INTO registry_leases (name, holder, until) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE holder = excluded.holder OR until <= ? RETURNING name`)
  const countOwned = db.prepare('SELECT count(*) AS total FROM registry_agents WHERE owner = ?')
  const selectCatalogs = db.prepare('SELECT catalog FROM registry_catalogs ORDER BY url')
  const upsertCatalog = db.prepare('INSERT OR REPLACE INTO registry_catalogs (url, catalog) VALUES (?, ?)')
  const deleteCatalog = db.prepare('DELETE FROM registry_catalogs WHERE url = ?')
  const termIndex = createTermIndex(db)
  const counts = createCountCache()
  const prepared = new BoundedMap<string, SqliteStatement>(maxPrepared)
  const wakeups = createWakeups()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const get = (id: string) => {
    const row = select.get(id) as Row | undefined
    return row && decodeEntry(row)
  }
  const readState = () => selectState.get() as Readonly<Record<'number' | EntryKind | 'all', number>>

  /** Numbers a change and stores it for readers. Called in a transaction. */
  function recordChange(type: ChangeType, id: string, mesh = 0, a2a = 0): void {
    const { number } = advanceState.get(mesh, a2a) as { readonly number: number }
    insertChange.run(number, type, id)
    dropChanges.run(number - changesKept)
  }

  function write(entry: RegistryEntry, index: Parameters<RegistryStore['put']>[1]): void {
    const { id, name, kind, owner = null, seen, trouble = null } = entry
    termIndex.replace(get(id), entry, index.terms)
    upsert.run(id, name, kind, owner, seen, trouble, encodeDocument(entry), Math.round(index.rank), index.due ?? null)
  }

  function remove(id: string): boolean {
    const dropped = deleteAgent.get(id) as { readonly kind: EntryKind } | undefined
    if (!dropped) return false
    termIndex.remove(id, dropped.kind)
    recordChange('removed', id, dropped.kind === 'mesh' ? -1 : 0, dropped.kind === 'a2a' ? -1 : 0)
    return true
  }

  /** Commits, and wakes waiting readers. */
  function change<T>(work: () => T): T {
    const result = transaction(work)
    wakeups.wakeAll()
    return result
  }

  function prepare(text: string): SqliteStatement {
    const statement = prepared.get(text) ?? db.prepare(text)
    prepared.set(text, statement)
    return statement
  }

  /** The number of matching entries; 0 if the query needs none. */
  function totalOf(plan: QueryPlan): number {
    const count = countStatements(plan, tables)
    if (!count) return 0
    const { all, isStable, without } = count
    const excluded = without ? runCount(without) : 0
    if ('exact' in all) return all.exact - excluded
    if ('kind' in all) return readState()[all.kind] - excluded
    return (isStable ? cachedCount(all) : runCount(all)) - excluded
  }

  function runCount({ text, values }: EntryStatement): number {
    return (prepare(text).get(...values) as { readonly total: number }).total
  }

  function cachedCount(statement: EntryStatement): number {
    const { number } = readState()
    const key = JSON.stringify(statement)
    const cached = counts.get(key, number)
    if (cached !== undefined) return cached
    const total = runCount(statement)
    counts.set(key, number, total)
    return total
  }

  function startPolling(): void {
    timer ??= setInterval(() => {
      wakeups.wakeAll()
      if (wakeups.size > 0) return
      clearInterval(timer)
      timer = undefined
    }, pollInterval).unref()
  }

  const store: RegistryStore = {
    async put(entry, index, { maxOwned } = {}) {
      return change(() => {
        const existing = get(entry.id)
        if (existing && existing.owner !== entry.owner) return 'taken'
        if (!existing && readState().all >= capacity) return 'full'
        if (!existing && maxOwned !== undefined && entry.owner !== undefined) {
          const { total } = countOwned.get(entry.owner) as { readonly total: number }
          if (total >= maxOwned) return 'crowded'
        }
        write(entry, index)
        if (existing) recordChange('updated', entry.id)
        else recordChange('registered', entry.id, entry.kind === 'mesh' ? 1 : 0, entry.kind === 'a2a' ? 1 : 0)
        return existing ? 'replaced' : 'added'
      })
    },
    async note({ owner: _, ...entry }, index, changed) {
      return change(() => {
        const existing = get(entry.id)
        if (!existing) return false
        write({ ...entry, ...(existing.owner !== undefined && { owner: existing.owner }) }, index)
        if (changed) recordChange(changed, entry.id)
        return true
      })
    },
    get: async (id) => get(id),
    async touch(id, seen, trouble) {
      if (trouble === undefined) {
        setSeen.run(seen, id)
        return get(id)
      }
      return change(() => {
        const existing = get(id)
        setSeenAndTrouble.run(seen, trouble, id)
        if (existing && (existing.trouble ?? null) !== trouble) recordChange('status', id)
        return get(id)
      })
    },
    remove: async (id) => change(() => remove(id)),
    async find(query) {
      const sizes = termIndex.sizesOf(query)
      const health = needsHealthSize(query, sizes) ? runCount(healthSizeStatement(query, tables)) : undefined
      const plan = planQuery(query, sizes, health)
      const page = pageStatement(plan, tables)
      const rows = prepare(page.text).all(...page.values) as Row[]
      return { entries: rows.map(decodeEntry), total: totalOf(plan) }
    },
    async expire(kind, seenBefore, limit) {
      return change(() => {
        const ids = (selectOld.all(kind, seenBefore, limit) as { id: string }[]).map(({ id }) => id)
        for (const id of ids) remove(id)
        return ids
      })
    },
    due: async (by, limit) => (selectDue.all(by, limit) as Row[]).map(decodeEntry),
    async schedule(id, due) {
      setDue.run(due, id)
    },
    async catalogs() {
      return (selectCatalogs.all() as { readonly catalog: string }[]).map(({ catalog }) => JSON.parse(catalog))
    },
    async keepCatalog(catalog) {
      upsertCatalog.run(catalog.url, JSON.stringify(catalog))
    },
    dropCatalog: async (url) => deleteCatalog.run(url).changes > 0,
    async changes(after, limit) {
      const { number: latest } = readState()
      if (after > latest || after < latest - changesKept) return { changes: undefined, latest }
      const rows = selectChanges.all(after, limit) as StoredChange[]
      // Another process may keep fewer changes.
      const isComplete = after === latest || rows[0]?.number === after + 1
      return { changes: isComplete ? rows.map((row) => ({ ...row })) : undefined, latest }
    },
    async wait(after, signal) {
      if (isClosed || readState().number > after) return
      startPolling()
      await wakeups.wait('', signal)
    },
    async lease(name, holder, ttl) {
      const time = Date.now()
      return acquireLease.get(name, holder, time + ttl, time) !== undefined
    },
    async close() {
      if (isClosed) return
      isClosed = true
      clearInterval(timer)
      wakeups.wakeAll()
      db.close()
    },
  }
  return withStoreErrors(store, file, 'The registry')
}

/** The search terms of entries and the number of entries per term. Written in a transaction. */
export interface TermIndex {
  /** `before` is the stored entry, if there is one. */
  replace(before: RegistryEntry | undefined, entry: RegistryEntry, terms: readonly string[]): void
  remove(id: string, kind: EntryKind): void
  sizesOf(query: EntryQuery): EntrySizes
}

function createTermIndex(db: SqliteDatabase): TermIndex {
  const select = db.prepare('SELECT term FROM registry_terms WHERE id = ?')
  const insert = db.prepare('INSERT OR IGNORE INTO registry_terms (term, name, id) VALUES (?, ?, ?)')
  const deleteTerms = db.prepare('DELETE FROM registry_terms WHERE id = ?')
  const increment = db.prepare(`
    INSERT INTO registry_term_counts (term, kind, total) VALUES (?, ?, 1)
    ON CONFLICT (term, kind) DO UPDATE SET total = total + 1`)
  const decrement = db.prepare(
    'UPDATE registry_term_counts SET total = total - 1 WHERE term = ? AND kind = ? RETURNING total',
  )
  const deleteCount = db.prepare('DELETE FROM registry_term_counts WHERE term = ? AND kind = ?')
  const countTerm = db.prepare('SELECT sum(total) AS total FROM registry_term_counts WHERE term = ? AND kind IN (?, ?)')
  const countPrefix = db.prepare(`
    SELECT sum(total) AS total FROM (
      SELECT total FROM registry_term_counts WHERE term >= ? AND term < ? AND kind IN (?, ?) LIMIT ${commonSize})`)

  const termsOf = (id: string) => (select.all(id) as { readonly term: string }[]).map(({ term }) => term)

  function remove(id: string, kind: EntryKind): void {
    for (const term of termsOf(id)) {
      const { total } = decrement.get(term, kind) as { readonly total: number }
      if (total === 0) deleteCount.run(term, kind)
    }
    deleteTerms.run(id)
  }

  return {
    replace(before, { id, name, kind }, terms) {
      const newTerms = new Set(terms)
      if (before) {
        const oldTerms = termsOf(id)
        const isSame = before.name === name && before.kind === kind && oldTerms.length === newTerms.size
        if (isSame && oldTerms.every((term) => newTerms.has(term))) return
        remove(id, before.kind)
      }
      for (const term of newTerms) {
        insert.run(term, name, id)
        increment.run(term, kind)
      }
    },
    remove,
    sizesOf({ terms = [], prefixes = [], kind }) {
      const kinds = [kind ?? 'mesh', kind ?? 'a2a'] as const
      return {
        terms: terms.map((term) => (countTerm.get(term, ...kinds) as SizeRow).total ?? 0),
        prefixes: prefixes.map(
          (prefix) => (countPrefix.get(prefix, `${prefix}\u{10ffff}`, ...kinds) as SizeRow).total ?? 0,
        ),
      }
    },
  }
}

interface SizeRow {
  readonly total: number | null
}

interface Row {
  readonly id: string
  readonly owner: string | null
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  readonly entry: string
}

function decodeEntry({ owner, seen, trouble, entry }: Row): RegistryEntry {
  return { ...JSON.parse(entry), ...(owner !== null && { owner }), seen, ...(trouble && { trouble }) }
}

/** The part of an entry that has no column. */
function encodeDocument({ owner: _, seen: __, trouble: ___, ...entry }: RegistryEntry): string {
  return JSON.stringify(entry)
}

const tables = {
  agents: 'registry_agents',
  byHealth: 'registry_agents e INDEXED BY registry_by_health',
  terms: 'registry_terms',
  state: 'registry_state',
  placeholder: () => '?',
  join: 'CROSS JOIN',
  unindexed: '+',
}
