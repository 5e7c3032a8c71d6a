import type { EntryQuery, EntryStore, RegistryEntry } from './entry-store.ts'

export interface MemoryEntriesOptions {
  /** 100,000 unless it is given. */
  readonly capacity?: number
}

/** Entries that are gone with the process. */
export function createMemoryEntries({ capacity = 100_000 }: MemoryEntriesOptions = {}): EntryStore {
  const entries = new Map<string, RegistryEntry>()
  const byCapability = new Map<string, Set<string>>()

  function drop(id: string): boolean {
    for (const capability of entries.get(id)?.card.capabilities ?? []) {
      const offering = byCapability.get(capability)
      offering?.delete(id)
      if (offering?.size === 0) byCapability.delete(capability)
    }
    return entries.delete(id)
  }

  /** Those with the rarest of the capabilities: nobody else needs to be looked at. */
  function* candidates(capabilities: readonly string[]): Generator<RegistryEntry> {
    if (capabilities.length === 0) return yield* entries.values()
    const offering = capabilities.map((capability) => byCapability.get(capability) ?? new Set<string>())
    const rarest = offering.reduce((one, other) => (other.size < one.size ? other : one))
    for (const id of rarest) {
      const entry = entries.get(id)
      if (entry && offering.every((ids) => ids.has(id))) yield entry
    }
  }

  return {
    async put(entry) {
      if (!entries.has(entry.id) && entries.size >= capacity) return false
      drop(entry.id)
      entries.set(entry.id, entry)
      for (const capability of entry.card.capabilities) {
        const offering = byCapability.get(capability) ?? new Set()
        byCapability.set(capability, offering.add(entry.id))
      }
      return true
    },
    get: async (id) => entries.get(id),
    async touch(id, seen, trouble) {
      const entry = entries.get(id)
      if (!entry) return undefined
      const { trouble: before, ...rest } = entry
      const now = trouble === undefined ? before : (trouble ?? undefined)
      const touched = { ...rest, seen: Math.max(seen, entry.seen), ...(now && { trouble: now }) }
      entries.set(id, touched)
      return touched
    },
    remove: async (id) => drop(id),
    async find({ capabilities = [], health, limit }) {
      const found = [...candidates(capabilities)].filter((entry) => isIn(entry, health))
      return { entries: found.sort(byName).slice(0, limit), total: found.length }
    },
    async expire(seenBefore, limit) {
      const old: string[] = []
      for (const { id, seen } of entries.values()) {
        if (old.length >= limit) break
        if (seen < seenBefore) old.push(id)
      }
      for (const id of old) drop(id)
      return old
    },
    async close() {},
  }
}

function isIn({ seen, trouble }: RegistryEntry, health: EntryQuery['health']): boolean {
  return health === undefined || health.isHealthy === (trouble === undefined && seen >= health.since)
}

function byName(one: RegistryEntry, other: RegistryEntry): number {
  return compare(one.card.name, other.card.name) || compare(one.id, other.id)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
