import type {
  ChangeType,
  EntryKind,
  EntryQuery,
  EntryStore,
  RegistryEntry,
  StoredChange,
} from '../../registry/entry.ts'
import { createWakeups } from '../../tasks/follow.ts'
import {
  common,
  countOf,
  createStableCounts,
  type EntryPlan,
  type EntrySizes,
  type EntryStatement,
  healthSize,
  needsHealth,
  pageStatement,
  planOf,
} from '../registry-query.ts'
import {
  createTransaction,
  nodeDriver,
  type SqliteDatabase,
  type SqliteDriver,
  type SqliteStatement,
} from './connection.ts'
import { openDatabase } from './schema.ts'

const columns = 'id, name, kind, owner, seen, trouble, entry'

/** Milliseconds between two looks for what other processes changed, while somebody follows. */
const lookInterval = 250

/** So many different questions are kept prepared. */
const maxPrepared = 100

export interface SqliteEntriesOptions {
  /** Where it lies; made with its directory if it is not there. It may be the file of a task log. */
  readonly file: string
  readonly driver?: SqliteDriver
  /** 100,000 unless it is given. */
  readonly capacity?: number
  /** How many changes are remembered for those who follow. 10,000 unless it is given. */
  readonly changesKept?: number
}

/** The entries of a registry in one file, which several processes may share. */
export function createSqliteEntries(options: SqliteEntriesOptions): EntryStore {
  const { file, driver = nodeDriver, capacity = 100_000, changesKept = 10_000 } = options
  const db = openDatabase(file, driver)
  // Agents come again, so the last ones may be lost with the power; the file stays whole.
  db.exec('PRAGMA busy_timeout = 5000; PRAGMA synchronous = NORMAL')
  const transaction = createTransaction(db)
  const select = db.prepare(`SELECT ${columns} FROM registry_agents WHERE id = ?`)
  const state = db.prepare('SELECT number, mesh, a2a, mesh + a2a AS "all" FROM registry_state')
  const next = db.prepare(
    'UPDATE registry_state SET number = number + 1, mesh = mesh + ?, a2a = a2a + ? RETURNING number',
  )
  const log = db.prepare('INSERT INTO registry_changes (number, type, id) VALUES (?, ?, ?)')
  const forget = db.prepare('DELETE FROM registry_changes WHERE number <= ?')
  const read = db.prepare('SELECT number, type, id FROM registry_changes WHERE number > ? ORDER BY number LIMIT ?')
  const drop = db.prepare('DELETE FROM registry_agents WHERE id = ? RETURNING kind')
  const add = db.prepare(
    `INSERT OR REPLACE INTO registry_agents (${columns}, rank, due) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const see = db.prepare('UPDATE registry_agents SET seen = max(seen, ?) WHERE id = ?')
  const seeAs = db.prepare('UPDATE registry_agents SET seen = max(seen, ?), trouble = ? WHERE id = ?')
  const old = db.prepare('SELECT id FROM registry_agents WHERE kind = ? AND seen < ? ORDER BY seen LIMIT ?')
  const waiting = db.prepare(`SELECT ${columns} FROM registry_agents WHERE due <= ? ORDER BY due LIMIT ?`)
  const plan = db.prepare('UPDATE registry_agents SET due = ? WHERE id = ?')
  const take = db.prepare(`
    INSERT INTO registry_leases (name, holder, until) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
    WHERE holder = excluded.holder OR until <= ? RETURNING name`)
  const owned = db.prepare('SELECT count(*) AS total FROM registry_agents WHERE owner = ?')
  const kept = db.prepare('SELECT catalog FROM registry_catalogs ORDER BY url')
  const keep = db.prepare('INSERT OR REPLACE INTO registry_catalogs (url, catalog) VALUES (?, ?)')
  const dropKept = db.prepare('DELETE FROM registry_catalogs WHERE url = ?')
  const termIndex = createTermIndex(db)
  const counted = createStableCounts()
  const prepared = new Map<string, SqliteStatement>()
  const wakeups = createWakeups()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const get = (id: string) => {
    const row = select.get(id) as Row | undefined
    return row && entryOf(row)
  }
  const now = () => state.get() as Readonly<Record<'number' | EntryKind | 'all', number>>

  /** To be called in a transaction. */
  function tell(type: ChangeType, id: string, mesh = 0, a2a = 0): void {
    const { number } = next.get(mesh, a2a) as { readonly number: number }
    log.run(number, type, id)
    forget.run(number - changesKept)
  }

  function write(entry: RegistryEntry, index: Parameters<EntryStore['put']>[1]): void {
    const { id, name, kind, owner = null, seen, trouble = null } = entry
    termIndex.replace(get(id), entry, index.terms)
    add.run(id, name, kind, owner, seen, trouble, documentOf(entry), Math.round(index.rank), index.due ?? null)
  }

  function remove(id: string): boolean {
    const dropped = drop.get(id) as { readonly kind: EntryKind } | undefined
    if (!dropped) return false
    termIndex.remove(id, dropped.kind)
    tell('removed', id, dropped.kind === 'mesh' ? -1 : 0, dropped.kind === 'a2a' ? -1 : 0)
    return true
  }

  /** Commits, and wakes those who follow. */
  function change<T>(work: () => T): T {
    const result = transaction(work)
    wakeups.wakeAll()
    return result
  }

  function prepare(text: string): SqliteStatement {
    const known = prepared.get(text)
    if (known) return known
    if (prepared.size >= maxPrepared) prepared.clear()
    const statement = db.prepare(text)
    prepared.set(text, statement)
    return statement
  }

  /** How many there are, if somebody wants to know. */
  function totalOf(plan: EntryPlan): number {
    const count = countOf(plan, tables)
    if (!count) return 0
    const { all, isStable, without } = count
    const left = without ? ask(without) : 0
    if ('exact' in all) return all.exact - left
    if ('known' in all) return now()[all.known] - left
    return (isStable ? askOnce(all) : ask(all)) - left
  }

  function ask({ text, values }: EntryStatement): number {
    return (prepare(text).get(...values) as { readonly total: number }).total
  }

  function askOnce(statement: EntryStatement): number {
    const { number } = now()
    const question = JSON.stringify(statement)
    const known = counted.get(question, number)
    if (known !== undefined) return known
    const total = ask(statement)
    counted.set(question, number, total)
    return total
  }

  function keepLooking(): void {
    timer ??= setInterval(() => {
      wakeups.wakeAll()
      if (wakeups.size > 0) return
      clearInterval(timer)
      timer = undefined
    }, lookInterval).unref()
  }

  return {
    async put(entry, index, { maxOwned } = {}) {
      return change(() => {
        const known = get(entry.id)
        if (known && known.owner !== entry.owner) return 'taken'
        if (!known && now().all >= capacity) return 'full'
        if (!known && maxOwned !== undefined && entry.owner !== undefined) {
          const { total } = owned.get(entry.owner) as { readonly total: number }
          if (total >= maxOwned) return 'crowded'
        }
        write(entry, index)
        if (known) tell('updated', entry.id)
        else tell('registered', entry.id, entry.kind === 'mesh' ? 1 : 0, entry.kind === 'a2a' ? 1 : 0)
        return known ? 'replaced' : 'added'
      })
    },
    async note({ owner: _, ...entry }, index, changed) {
      return change(() => {
        const known = get(entry.id)
        if (!known) return false
        write({ ...entry, ...(known.owner !== undefined && { owner: known.owner }) }, index)
        if (changed) tell(changed, entry.id)
        return true
      })
    },
    get: async (id) => get(id),
    async touch(id, seen, trouble) {
      if (trouble === undefined) {
        see.run(seen, id)
        return get(id)
      }
      return change(() => {
        const known = get(id)
        seeAs.run(seen, trouble, id)
        if (known && (known.trouble ?? null) !== trouble) tell('status', id)
        return get(id)
      })
    },
    remove: async (id) => change(() => remove(id)),
    async find(query) {
      const sizes = termIndex.sizesOf(query)
      const health = needsHealth(query, sizes) ? ask(healthSize(query, tables)) : undefined
      const plan = planOf(query, sizes, health)
      const page = pageStatement(plan, tables)
      const rows = prepare(page.text).all(...page.values) as Row[]
      return { entries: rows.map(entryOf), total: totalOf(plan) }
    },
    async expire(kind, seenBefore, limit) {
      return change(() => {
        const ids = (old.all(kind, seenBefore, limit) as { id: string }[]).map(({ id }) => id)
        for (const id of ids) remove(id)
        return ids
      })
    },
    due: async (by, limit) => (waiting.all(by, limit) as Row[]).map(entryOf),
    async schedule(id, due) {
      plan.run(due, id)
    },
    async catalogs() {
      return (kept.all() as { readonly catalog: string }[]).map(({ catalog }) => JSON.parse(catalog))
    },
    async keepCatalog(catalog) {
      keep.run(catalog.url, JSON.stringify(catalog))
    },
    dropCatalog: async (url) => dropKept.run(url).changes > 0,
    async changes(after, limit) {
      const { number: latest } = now()
      if (after > latest || after < latest - changesKept) return { changes: undefined, latest }
      const rows = read.all(after, limit) as StoredChange[]
      // Another process may remember less.
      const isWhole = after === latest || rows[0]?.number === after + 1
      return { changes: isWhole ? rows.map((row) => ({ ...row })) : undefined, latest }
    },
    async wait(after, signal) {
      if (isClosed || now().number > after) return
      keepLooking()
      await wakeups.wait('', signal)
    },
    async lease(name, holder, ttl) {
      const moment = Date.now()
      return take.get(name, holder, moment + ttl, moment) !== undefined
    },
    async close() {
      if (isClosed) return
      isClosed = true
      clearInterval(timer)
      wakeups.wakeAll()
      db.close()
    },
  }
}

/** By which terms entries are found, and how many have each. To be written in a transaction. */
export interface TermIndex {
  /** `before` is the entry as it is stored, if it is. */
  replace(before: RegistryEntry | undefined, entry: RegistryEntry, terms: readonly string[]): void
  remove(id: string, kind: EntryKind): void
  sizesOf(query: EntryQuery): EntrySizes
}

function createTermIndex(db: SqliteDatabase): TermIndex {
  const select = db.prepare('SELECT term FROM registry_terms WHERE id = ?')
  const add = db.prepare('INSERT OR IGNORE INTO registry_terms (term, name, id) VALUES (?, ?, ?)')
  const drop = db.prepare('DELETE FROM registry_terms WHERE id = ?')
  const more = db.prepare(`
    INSERT INTO registry_term_counts (term, kind, total) VALUES (?, ?, 1)
    ON CONFLICT (term, kind) DO UPDATE SET total = total + 1`)
  const fewer = db.prepare(
    'UPDATE registry_term_counts SET total = total - 1 WHERE term = ? AND kind = ? RETURNING total',
  )
  const none = db.prepare('DELETE FROM registry_term_counts WHERE term = ? AND kind = ?')
  const having = db.prepare('SELECT sum(total) AS total FROM registry_term_counts WHERE term = ? AND kind IN (?, ?)')
  const beginning = db.prepare(`
    SELECT sum(total) AS total FROM (
      SELECT total FROM registry_term_counts WHERE term >= ? AND term < ? AND kind IN (?, ?) LIMIT ${common})`)

  const termsOf = (id: string) => (select.all(id) as { readonly term: string }[]).map(({ term }) => term)

  function remove(id: string, kind: EntryKind): void {
    for (const term of termsOf(id)) {
      const { total } = fewer.get(term, kind) as { readonly total: number }
      if (total === 0) none.run(term, kind)
    }
    drop.run(id)
  }

  return {
    replace(before, { id, name, kind }, terms) {
      const wanted = new Set(terms)
      if (before) {
        const known = termsOf(id)
        const isSame = before.name === name && before.kind === kind && known.length === wanted.size
        if (isSame && known.every((term) => wanted.has(term))) return
        remove(id, before.kind)
      }
      for (const term of wanted) {
        add.run(term, name, id)
        more.run(term, kind)
      }
    },
    remove,
    sizesOf({ terms = [], prefixes = [], kind }) {
      const kinds = [kind ?? 'mesh', kind ?? 'a2a'] as const
      return {
        terms: terms.map((term) => (having.get(term, ...kinds) as Sized).total ?? 0),
        prefixes: prefixes.map(
          (prefix) => (beginning.get(prefix, `${prefix}\u{10ffff}`, ...kinds) as Sized).total ?? 0,
        ),
      }
    },
  }
}

interface Sized {
  readonly total: number | null
}

interface Row {
  readonly id: string
  readonly owner: string | null
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  readonly entry: string
}

function entryOf({ owner, seen, trouble, entry }: Row): RegistryEntry {
  return { ...JSON.parse(entry), ...(owner !== null && { owner }), seen, ...(trouble && { trouble }) }
}

/** What has no column. */
function documentOf({ owner: _, seen: __, trouble: ___, ...entry }: RegistryEntry): string {
  return JSON.stringify(entry)
}

const tables = {
  agents: 'registry_agents',
  byHealth: 'registry_agents e INDEXED BY registry_by_health',
  terms: 'registry_terms',
  state: 'registry_state',
  place: () => '?',
  join: 'CROSS JOIN',
  unindexed: '+',
}
