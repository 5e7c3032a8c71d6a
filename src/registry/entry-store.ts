import type { MeshCard } from '../mesh/envelope.ts'

/** An agent that the registry knows. */
export interface RegistryEntry {
  readonly id: string
  readonly card: MeshCard
  /** Where its envelopes are posted. */
  readonly endpoint: string
  /** The key with which it registered; without one, nobody has proven to be it. */
  readonly fingerprint?: string
  /** When it was last heard of, in milliseconds since 1970. */
  readonly seen: number
  /** Why it is not healthy although it was heard of: it said so, or did not answer. */
  readonly trouble?: Trouble
}

export type Trouble = 'said' | 'unreachable'

export interface EntryQuery {
  /** An agent must have all of them, written exactly so. */
  readonly capabilities?: readonly string[]
  /** Only those that are healthy, or only those that are not: seen since then, and without trouble. */
  readonly health?: { readonly isHealthy: boolean; readonly since: number }
  readonly limit: number
}

export interface FoundEntries {
  /** By name, then by id. */
  readonly entries: readonly RegistryEntry[]
  /** Also of those that are beyond the limit. */
  readonly total: number
}

/** Who is registered. */
export interface EntryStore {
  /** Answers false if there is no room for another one. */
  put(entry: RegistryEntry): Promise<boolean>
  get(id: string): Promise<RegistryEntry | undefined>
  /** Heard of; with `trouble`, also how it is: null if it is well. Answers the entry as it is now, if there is one. */
  touch(id: string, seen: number, trouble?: Trouble | null): Promise<RegistryEntry | undefined>
  /** Answers whether there was one. */
  remove(id: string): Promise<boolean>
  find(query: EntryQuery): Promise<FoundEntries>
  /** Removes those not heard of since then, so many at most, and answers their ids. */
  expire(seenBefore: number, limit: number): Promise<readonly string[]>
  close(): Promise<void>
}
