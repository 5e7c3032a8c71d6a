import { defined } from '../core/base/json.ts'
import { createMemoryOperatorState } from '../core/base/operator-state.ts'
import { checkOptions, integer } from '../core/base/options.ts'
import type {
  ChangePage,
  ChangeType,
  EntryIndex,
  EntryQuery,
  RegistryEntry,
  RegistryStore,
  StoredChange,
  SyncedCatalog,
} from './entry.ts'

export interface MemoryEntriesOptions {
  /** Maximum number of entries. Defaults to 100,000. */
  readonly capacity?: number
  /** Number of changes kept for readers of `changes`. Defaults to 10,000. */
  readonly changesKept?: number
}

/** Creates a store in memory. Its entries are lost when the process ends. */
export function createMemoryRegistryStore(options: MemoryEntriesOptions = {}): RegistryStore {
  checkOptions('createMemoryRegistryStore', options, { capacity: integer({ min: 1 }), changesKept: integer() })
  const { capacity = 100_000, changesKept = 10_000 } = options
  const index = createIndex()
  const { byId } = index
  const catalogs = new Map<string, SyncedCatalog>()
  const { record, ...changes } = createChanges(changesKept)

  return {
    operator: createMemoryOperatorState(),
    async put(entry, entryIndex, { maxOwned = Number.POSITIVE_INFINITY } = {}) {
      const existing = byId.get(entry.id)
      if (existing && existing.entry.owner !== entry.owner) return 'taken'
      if (!existing && byId.size >= capacity) return 'full'
      if (!existing && entry.owner !== undefined && index.countOf(entry.owner) >= maxOwned) return 'crowded'
      index.put({ ...entryIndex, entry })
      record(existing ? 'updated' : 'registered', entry.id)
      return existing ? 'replaced' : 'added'
    },
    async note({ owner: _, ...entry }, entryIndex, change) {
      const existing = byId.get(entry.id)
      if (!existing) return false
      const { owner } = existing.entry
      index.put({ ...entryIndex, entry: { ...entry, ...defined({ owner }) } })
      if (change) record(change, entry.id)
      return true
    },
    get: async (id) => byId.get(id)?.entry,
    async touch(id, seen, trouble) {
      const existing = byId.get(id)
      if (!existing) return undefined
      const { trouble: before, ...rest } = existing.entry
      const after = trouble === undefined ? before : (trouble ?? undefined)
      const entry = { ...rest, seen: Math.max(seen, rest.seen), ...defined({ trouble: after }) }
      byId.set(id, { ...existing, entry })
      if (after !== before) record('status', id)
      return entry
    },
    async remove(id) {
      if (!index.remove(id)) return false
      record('removed', id)
      return true
    },
    async find({ terms = [], limit, after, order = 'name', uncounted = false, ...query }) {
      const matches = [...index.withTerms(terms)].filter((indexed) => isMatch(indexed, query))
      const sorted = matches.sort(order === 'best' ? byRank : byName).map(({ entry }) => entry)
      const rest = after ? sorted.filter((entry) => compareNames(entry, after) > 0) : sorted
      return { entries: rest.slice(0, limit), total: uncounted ? 0 : matches.length }
    },
    async expire(kind, seenBefore, limit) {
      const expired: string[] = []
      for (const { entry } of byId.values()) {
        if (expired.length >= limit) break
        if (entry.kind === kind && entry.seen < seenBefore) expired.push(entry.id)
      }
      for (const id of expired) {
        index.remove(id)
        record('removed', id)
      }
      return expired
    },
    async due(by, limit) {
      const due = [...byId.values()].filter(({ due = Number.POSITIVE_INFINITY }) => due <= by)
      const sorted = due.sort((one, other) => (one.due ?? 0) - (other.due ?? 0))
      return sorted.slice(0, limit).map(({ entry }) => entry)
    },
    async schedule(id, due) {
      const existing = byId.get(id)
      if (existing) byId.set(id, { ...existing, due })
    },
    catalogs: async () => [...catalogs.values()],
    async keepCatalog(catalog) {
      catalogs.set(catalog.url, catalog)
    },
    dropCatalog: async (url) => catalogs.delete(url),
    ...changes,
    lease: async () => true,
  }
}

/** The numbered changes, of which the last ones are kept for readers. */
function createChanges(changesKept: number) {
  const kept: StoredChange[] = []
  const waiters = new Set<() => void>()
  /** Starts at the current time, so that change numbers from an earlier process are recognized as foreign. */
  let latest = Date.now()

  function wakeAll(): void {
    for (const wake of [...waiters]) wake()
  }

  return {
    record(type: ChangeType, id: string): void {
      kept.push({ number: ++latest, type, id })
      if (kept.length > changesKept) kept.shift()
      wakeAll()
    },
    async changes(after: number, limit: number): Promise<ChangePage> {
      const first = kept[0]?.number ?? latest + 1
      if (after > latest || after < first - 1) return { changes: undefined, latest }
      return { changes: kept.slice(after - first + 1, after - first + 1 + limit), latest }
    },
    wait(after: number, signal: AbortSignal): Promise<void> {
      if (latest > after || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          waiters.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiters.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
    close: async () => wakeAll(),
  }
}

/** The entries by id, by term and by owner. */
function createIndex() {
  const byId = new Map<string, IndexedEntry>()
  const idsByTerm = new Map<string, Set<string>>()
  const countByOwner = new Map<string | undefined, number>()

  function changeCount(owner: string | undefined, difference: number): void {
    const count = (countByOwner.get(owner) ?? 0) + difference
    if (count > 0) countByOwner.set(owner, count)
    else countByOwner.delete(owner)
  }

  function remove(id: string): boolean {
    const existing = byId.get(id)
    if (existing) changeCount(existing.entry.owner, -1)
    for (const term of existing?.terms ?? []) {
      const ids = idsByTerm.get(term)
      ids?.delete(id)
      if (ids?.size === 0) idsByTerm.delete(term)
    }
    return byId.delete(id)
  }

  return {
    byId,
    remove,
    put(indexed: IndexedEntry): void {
      const { id, owner } = indexed.entry
      remove(id)
      changeCount(owner, 1)
      byId.set(id, indexed)
      for (const term of indexed.terms) idsByTerm.set(term, (idsByTerm.get(term) ?? new Set()).add(id))
    },
    countOf: (owner: string) => countByOwner.get(owner) ?? 0,
    /** Entries with all the terms. Scans only the ids of the rarest term. */
    *withTerms(terms: readonly string[]): Generator<IndexedEntry> {
      if (terms.length === 0) return yield* byId.values()
      const idSets = terms.map((term) => idsByTerm.get(term) ?? new Set<string>())
      const rarest = idSets.reduce((one, other) => (other.size < one.size ? other : one))
      for (const id of rarest) {
        const indexed = byId.get(id)
        if (indexed && idSets.every((ids) => ids.has(id))) yield indexed
      }
    },
  }
}

interface IndexedEntry extends EntryIndex {
  readonly entry: RegistryEntry
}

function isMatch({ entry, terms }: IndexedEntry, { kind, health, prefixes = [] }: Omit<EntryQuery, 'limit'>): boolean {
  if (kind !== undefined && entry.kind !== kind) return false
  if (!prefixes.every((prefix) => terms.some((term) => term.startsWith(prefix)))) return false
  if (!health) return true
  const isRecent = entry.kind === 'a2a' || entry.seen >= health.since
  return health.isHealthy === (entry.trouble === undefined && isRecent)
}

function byRank(one: IndexedEntry, other: IndexedEntry): number {
  const byHealth = Number(one.entry.trouble !== undefined) - Number(other.entry.trouble !== undefined)
  return byHealth || one.rank - other.rank || byName(one, other)
}

function byName({ entry: one }: IndexedEntry, { entry: other }: IndexedEntry): number {
  return compareNames(one, other)
}

function compareNames(one: Named, other: Named): number {
  return compare(one.name, other.name) || compare(one.id, other.id)
}

interface Named {
  readonly name: string
  readonly id: string
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
