import type {
  ChangeType,
  EntryIndex,
  EntryQuery,
  EntryStore,
  KeptCatalog,
  RegistryEntry,
  StoredChange,
} from './entry.ts'

export interface MemoryEntriesOptions {
  /** 100,000 unless it is given. */
  readonly capacity?: number
  /** How many changes are remembered for those who follow. 10,000 unless it is given. */
  readonly changesKept?: number
}

/** Entries that are gone with the process. */
export function createMemoryEntries(options: MemoryEntriesOptions = {}): EntryStore {
  const { capacity = 100_000, changesKept = 10_000 } = options
  const all = new Map<string, Kept>()
  const byTerm = new Map<string, Set<string>>()
  const owned = new Map<string | undefined, number>()
  const kept = new Map<string, KeptCatalog>()
  const changes: StoredChange[] = []
  const waiting = new Set<() => void>()
  /** Begins with the time, so that numbers of another process are never taken for ours. */
  let latest = Date.now()

  function tell(type: ChangeType, id: string): void {
    changes.push({ number: ++latest, type, id })
    if (changes.length > changesKept) changes.shift()
    for (const wake of [...waiting]) wake()
  }

  function own(owner: string | undefined, change: number): void {
    const count = (owned.get(owner) ?? 0) + change
    if (count > 0) owned.set(owner, count)
    else owned.delete(owner)
  }

  function keep(kept: Kept): void {
    const { id, owner } = kept.entry
    drop(id)
    own(owner, 1)
    all.set(id, kept)
    for (const term of kept.terms) byTerm.set(term, (byTerm.get(term) ?? new Set()).add(id))
  }

  function drop(id: string): boolean {
    const known = all.get(id)
    if (known) own(known.entry.owner, -1)
    for (const term of known?.terms ?? []) {
      const having = byTerm.get(term)
      having?.delete(id)
      if (having?.size === 0) byTerm.delete(term)
    }
    return all.delete(id)
  }

  /** Those with the rarest of the terms: nobody else needs to be looked at. */
  function* candidates(terms: readonly string[]): Generator<Kept> {
    if (terms.length === 0) return yield* all.values()
    const having = terms.map((term) => byTerm.get(term) ?? new Set<string>())
    const rarest = having.reduce((one, other) => (other.size < one.size ? other : one))
    for (const id of rarest) {
      const kept = all.get(id)
      if (kept && having.every((ids) => ids.has(id))) yield kept
    }
  }

  return {
    async put(entry, index, { maxOwned = Number.POSITIVE_INFINITY } = {}) {
      const known = all.get(entry.id)
      if (known && known.entry.owner !== entry.owner) return 'taken'
      if (!known && all.size >= capacity) return 'full'
      if (!known && entry.owner !== undefined && (owned.get(entry.owner) ?? 0) >= maxOwned) return 'crowded'
      keep({ ...index, entry })
      tell(known ? 'updated' : 'registered', entry.id)
      return known ? 'replaced' : 'added'
    },
    async note({ owner: _, ...entry }, index, change) {
      const known = all.get(entry.id)
      if (!known) return false
      const { owner } = known.entry
      keep({ ...index, entry: { ...entry, ...(owner !== undefined && { owner }) } })
      if (change) tell(change, entry.id)
      return true
    },
    get: async (id) => all.get(id)?.entry,
    async touch(id, seen, trouble) {
      const kept = all.get(id)
      if (!kept) return undefined
      const { trouble: before, ...rest } = kept.entry
      const now = trouble === undefined ? before : (trouble ?? undefined)
      const touched = { ...rest, seen: Math.max(seen, rest.seen), ...(now && { trouble: now }) }
      all.set(id, { ...kept, entry: touched })
      if (now !== before) tell('status', id)
      return touched
    },
    async remove(id) {
      if (!drop(id)) return false
      tell('removed', id)
      return true
    },
    async find({ terms = [], limit, after, order = 'name', uncounted = false, ...query }) {
      const found = [...candidates(terms)].filter((kept) => isMeant(kept, query))
      const sorted = found.sort(order === 'best' ? byRank : byName).map(({ entry }) => entry)
      const beyond = after ? sorted.filter((entry) => compareNames(entry, after) > 0) : sorted
      return { entries: beyond.slice(0, limit), total: uncounted ? 0 : found.length }
    },
    async expire(kind, seenBefore, limit) {
      const old: string[] = []
      for (const { entry } of all.values()) {
        if (old.length >= limit) break
        if (entry.kind === kind && entry.seen < seenBefore) old.push(entry.id)
      }
      for (const id of old) {
        drop(id)
        tell('removed', id)
      }
      return old
    },
    async due(by, limit) {
      const due = [...all.values()].filter(({ due = Number.POSITIVE_INFINITY }) => due <= by)
      const sorted = due.sort((one, other) => (one.due ?? 0) - (other.due ?? 0))
      return sorted.slice(0, limit).map(({ entry }) => entry)
    },
    async schedule(id, due) {
      const kept = all.get(id)
      if (kept) all.set(id, { ...kept, due })
    },
    catalogs: async () => [...kept.values()],
    async keepCatalog(catalog) {
      kept.set(catalog.url, catalog)
    },
    dropCatalog: async (url) => kept.delete(url),
    async changes(after, limit) {
      const first = changes[0]?.number ?? latest + 1
      if (after > latest || after < first - 1) return { changes: undefined, latest }
      return { changes: changes.slice(after - first + 1, after - first + 1 + limit), latest }
    },
    wait(after, signal) {
      if (latest > after || signal.aborted) return Promise.resolve()
      return new Promise((resolve) => {
        const wake = () => {
          waiting.delete(wake)
          signal.removeEventListener('abort', wake)
          resolve()
        }
        waiting.add(wake)
        signal.addEventListener('abort', wake)
      })
    },
    lease: async () => true,
    async close() {
      for (const wake of [...waiting]) wake()
    },
  }
}

interface Kept extends EntryIndex {
  readonly entry: RegistryEntry
}

function isMeant({ entry, terms }: Kept, { kind, health, prefixes = [] }: Omit<EntryQuery, 'limit'>): boolean {
  if (kind !== undefined && entry.kind !== kind) return false
  if (!prefixes.every((prefix) => terms.some((term) => term.startsWith(prefix)))) return false
  if (!health) return true
  const isFresh = entry.kind === 'a2a' || entry.seen >= health.since
  return health.isHealthy === (entry.trouble === undefined && isFresh)
}

function byRank(one: Kept, other: Kept): number {
  const troubled = Number(one.entry.trouble !== undefined) - Number(other.entry.trouble !== undefined)
  return troubled || one.rank - other.rank || byName(one, other)
}

function byName({ entry: one }: Kept, { entry: other }: Kept): number {
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
