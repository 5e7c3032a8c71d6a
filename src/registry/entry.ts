import type { JsonObject } from '../base/json.ts'
import type { MeshCard } from '../mesh/envelope.ts'

export interface MeshEntry extends EntryBase {
  readonly kind: 'mesh'
  readonly card: MeshCard
  /** The key with which it registered; without one, nobody has proven to be it. */
  readonly fingerprint?: string
}

export interface SkillInfo {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
}

/** What a card says, whatever its version. */
export interface About {
  readonly description: string
  readonly version: string
  readonly skills: readonly SkillInfo[]
  /** Such as `streaming`, and the extensions by their URIs. */
  readonly features: readonly string[]
}

export interface Sighting {
  readonly ok: boolean
  /** Milliseconds since 1970. */
  readonly at: number
  /** Milliseconds that it took. */
  readonly latency?: number
  /** What was wrong. */
  readonly problem?: string
}

/** What was seen of an agent; nothing if nobody has looked. */
export interface Sightings {
  /** Its card could be read. */
  readonly reachable?: Sighting
  /** Its card has what its version asks for, and names a way that we can go. */
  readonly conforms?: Sighting
  /** It was sent a message, and answered or completed the task. */
  readonly completed?: Sighting
  /** Its signatures, if there are any. */
  readonly signature?: Sighting
}

export interface A2AEntry extends EntryBase {
  readonly kind: 'a2a'
  /** The card as far as it is believed, in the form in which it came. */
  readonly card: JsonObject
  readonly about: About
  /** There is none if the card came in a catalog. */
  readonly cardUrl?: string
  readonly etag?: string
  /** When it came here, and when its card last changed. */
  readonly added: number
  readonly changed: number
  /** How often in a row it could not be read. */
  readonly failures: number
  readonly sightings: Sightings
}

/** An agent that the registry knows: a peer of the mesh, or one that speaks A2A. */
export type RegistryEntry = MeshEntry | A2AEntry

export type EntryKind = RegistryEntry['kind']

/** It said so, it did not answer, or it answers what nobody can use. */
export type Trouble = 'said' | 'unreachable' | 'unusable'

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

/** `taken`: it belongs to somebody else. `full`: there is no room for another one. `crowded`: its owner has enough. */
export type Put = 'added' | 'replaced' | 'taken' | 'full' | 'crowded'

/** A catalog of somebody else that is read again and again. */
export interface KeptCatalog {
  readonly url: string
  /** Who had it read, and has what it lists. */
  readonly owner?: string
  /** When to read it again, in milliseconds since 1970. */
  readonly due: number
  /** When it was last read, and how often it could not be since. */
  readonly readAt: number
  readonly failures: number
  readonly etag?: string
  /** The ids of those whose cards lie in it: they go when it no longer has them. */
  readonly inline: readonly string[]
}

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
  /** `maxOwned`: how many its owner may have. */
  put(entry: RegistryEntry, index: EntryIndex, limits?: { readonly maxOwned?: number }): Promise<Put>
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
  /** Those that are kept; few. */
  catalogs(): Promise<readonly KeptCatalog[]>
  keepCatalog(catalog: KeptCatalog): Promise<void>
  /** Answers whether it was kept. */
  dropCatalog(url: string): Promise<boolean>
  /** A bounded number of them is remembered. */
  changes(after: number, limit: number): Promise<ChangePage>
  /** Resolves once something beyond `after` may be there, or the signal aborts. May wake early, never too late. */
  wait(after: number, signal: AbortSignal): Promise<void>
  /** Takes or prolongs what only one may hold. Answers whether it is ours for so many milliseconds. */
  lease(name: string, holder: string, ttl: number): Promise<boolean>
  close(): Promise<void>
}

interface EntryBase {
  /** The `agent_id` of a peer; for A2A, where the card is. */
  readonly id: string
  readonly name: string
  /** Where it is asked. */
  readonly endpoint: string
  /** Who put it here and may change it; nobody but the operator if it is missing. */
  readonly owner?: string
  /** When it was last heard of, in milliseconds since 1970. */
  readonly seen: number
  /** Why it is not healthy although it was heard of. */
  readonly trouble?: Trouble
}
