import type { EntryKind, RegistryEntry, Trouble } from './entry.ts'

/** How an entry is found. */
export interface EntryIndex {
  /** Words by which it can be searched: see `terms.ts`. */
  readonly terms: readonly string[]
  /** The lower, the better was what was seen of it. */
  readonly rank: number
  /** When it has to be looked at again, in milliseconds since 1970. */
  readonly due?: number
}

export interface EntryQuery {
  readonly kind?: EntryKind
  /** An entry must have all of them, written exactly so. */
  readonly terms?: readonly string[]
  /** An entry must have, for each of them, a term that begins so. */
  readonly prefixes?: readonly string[]
  /** Only those that are healthy, or only those that are not: without trouble and, in the mesh, seen since then. */
  readonly health?: { readonly isHealthy: boolean; readonly since: number }
  /** By name and then id, unless the best shall come first. */
  readonly order?: 'name' | 'best'
  /** Begins behind this one, by name. */
  readonly after?: { readonly name: string; readonly id: string }
  readonly limit: number
  /** Nobody wants to know how many there are. */
  readonly uncounted?: boolean
}

export interface FoundEntries {
  readonly entries: readonly RegistryEntry[]
  /** Also of those that are beyond the limit, and before `after`. 0 if nobody wants to know. */
  readonly total: number
}

/** `taken`: it belongs to somebody else. `full`: there is no room for another one. */
export type Put = 'added' | 'replaced' | 'taken' | 'full'

export type ChangeType = 'registered' | 'updated' | 'status' | 'removed'

export interface StoredChange {
  /** Dense, and in the order in which changes were stored. */
  readonly number: number
  readonly type: ChangeType
  readonly id: string
}

export interface ChangePage {
  /** What came after, oldest first; undefined if some of it is no longer known. */
  readonly changes: readonly StoredChange[] | undefined
  /** The number of the last change of all. */
  readonly latest: number
}

/** Who is registered, and what changed. Replicas that are one registry share one. */
export interface EntryStore {
  put(entry: RegistryEntry, index: EntryIndex): Promise<Put>
  /** What is known now of an entry that is still there; its owner stays. Answers whether it is. */
  note(entry: RegistryEntry, index: EntryIndex, change?: 'updated' | 'status'): Promise<boolean>
  get(id: string): Promise<RegistryEntry | undefined>
  /** Heard of; with `trouble`, also how it is: null if it is well. Answers the entry as it is now, if there is one. */
  touch(id: string, seen: number, trouble?: Trouble | null): Promise<RegistryEntry | undefined>
  /** Answers whether there was one. */
  remove(id: string): Promise<boolean>
  find(query: EntryQuery): Promise<FoundEntries>
  /** Removes those of a kind not heard of since then, so many at most, and answers their ids. */
  expire(kind: EntryKind, seenBefore: number, limit: number): Promise<readonly string[]>
  /** Those that have to be looked at by then, the most urgent first. */
  due(by: number, limit: number): Promise<readonly RegistryEntry[]>
  /** When to look at it again. */
  schedule(id: string, due: number): Promise<void>
  /** A bounded number of them is remembered. */
  changes(after: number, limit: number): Promise<ChangePage>
  /** Resolves once something beyond `after` may be there, or the signal aborts. May wake early, never too late. */
  wait(after: number, signal: AbortSignal): Promise<void>
  /** Takes or prolongs what only one may hold. Answers whether it is ours for so many milliseconds. */
  lease(name: string, holder: string, ttl: number): Promise<boolean>
  close(): Promise<void>
}
