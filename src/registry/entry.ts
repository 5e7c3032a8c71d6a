import type { JsonObject } from '../core/base/json.ts'
import type { OperatorState } from '../core/base/operator-state.ts'
import type { MeshCard } from '../mesh/envelope.ts'

/** A registered agent: a mesh peer or an A2A agent. */
export type RegistryEntry = MeshEntry | A2AEntry

export type EntryKind = RegistryEntry['kind']

/** A mesh peer in a registry. */
export interface MeshEntry extends EntryBase {
  readonly kind: 'mesh'
  readonly card: MeshCard
  /** Fingerprint of the key that signed the registration. Missing if the peer registered without a signature. */
  readonly fingerprint?: string
}

/** An A2A agent in a registry. */
export interface A2AEntry extends EntryBase {
  readonly kind: 'a2a'
  /** The card in its wire form. Of a verified signed card, only the signed part. */
  readonly card: JsonObject
  readonly about: CardSummary
  /** Missing if the card was inline in a catalog. */
  readonly cardUrl?: string
  readonly etag?: string
  /** When the agent was added, in milliseconds since 1970. */
  readonly added: number
  /** When the card last changed, in milliseconds since 1970. */
  readonly changed: number
  /** Consecutive failures to read the card. */
  readonly failures: number
  readonly sightings: Observations
}

/** The part of a card that is searched and listed, independent of the card's version. */
export interface CardSummary {
  readonly description: string
  readonly version: string
  readonly skills: readonly SkillInfo[]
  /** Enabled capabilities such as `streaming`, and extensions by URI. */
  readonly features: readonly string[]
}

export interface SkillInfo {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly tags: readonly string[]
}

/** Results of checking an agent. A check that has not run yet is missing. */
export interface Observations {
  /** The card could be read. */
  readonly reachable?: Observation
  /** The card is valid for its version and names an endpoint that this registry can call. */
  readonly conforms?: Observation
  /** The agent replied to the probe message, or completed the task that it started. */
  readonly completed?: Observation
  /** The signatures of the card are valid. Missing if the card is not signed. */
  readonly signature?: Observation
}

export interface Observation {
  readonly ok: boolean
  /** Milliseconds since 1970. */
  readonly at: number
  /** Duration in milliseconds. */
  readonly latency?: number
  /** Why the check failed. */
  readonly problem?: string
}

/** `said`: the agent reported it. `unreachable`: it did not respond. `unusable`: its card or its responses are invalid. */
export type UnhealthyReason = 'said' | 'unreachable' | 'unusable'

/** An entry as search results and the HTTP API show it. */
export interface AgentListing {
  readonly id: string
  readonly kind: RegistryEntry['kind']
  readonly name: string
  readonly description: string
  readonly version: string
  /** The URL that callers send requests to. */
  readonly endpoint: string
  readonly cardUrl?: string
  readonly skills: readonly SkillInfo[]
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  /** ISO 8601. */
  readonly lastSeen: string
  /** Results of checking the agent. */
  readonly seen: Readonly<Partial<Record<keyof Observations, ListedObservation>>>
}

export interface ListedObservation extends Omit<Observation, 'at'> {
  /** ISO 8601. */
  readonly at: string
}

export function listingOf(entry: RegistryEntry, isHealthy: boolean): AgentListing {
  const { id, kind, name, endpoint } = entry
  const status = isHealthy ? 'healthy' : 'unhealthy'
  const lastSeen = new Date(entry.seen).toISOString()
  if (entry.kind === 'mesh') {
    const { description, version, capabilities } = entry.card
    const seen = { reachable: { ok: isHealthy, at: lastSeen } }
    return { id, kind, name, description, version, endpoint, skills: [], capabilities, status, lastSeen, seen }
  }
  const { description, version, skills, features: capabilities } = entry.about
  const location = entry.cardUrl === undefined ? {} : { cardUrl: entry.cardUrl }
  const seen = Object.fromEntries(
    Object.entries(entry.sightings).map(([check, { at, ...result }]: [string, Observation]) => [
      check,
      { ...result, at: new Date(at).toISOString() },
    ]),
  )
  return { id, kind, name, description, version, endpoint, ...location, skills, capabilities, status, lastSeen, seen }
}

/** How an entry is searched, ranked and scheduled. */
export interface EntryIndex {
  /** Search terms, as `termsOf` in `search.ts` creates them. */
  readonly terms: readonly string[]
  /** Lower is better: see `rankOf` in `search.ts`. */
  readonly rank: number
  /** When to check the entry next, in milliseconds since 1970. */
  readonly due?: number
}

export interface EntryQuery {
  readonly kind?: EntryKind
  /** The entry must have all these terms. */
  readonly terms?: readonly string[]
  /** For each prefix, the entry must have a term that starts with it. */
  readonly prefixes?: readonly string[]
  /** Healthy entries have no `trouble`; healthy mesh peers were also seen at or after `since`. */
  readonly health?: { readonly isHealthy: boolean; readonly since: number }
  /** `name`: by name, then id. `best`: by rank. Defaults to `name`. */
  readonly order?: 'name' | 'best'
  /** Starts after this entry in the order `name`. */
  readonly after?: { readonly name: string; readonly id: string }
  readonly limit: number
  /** Skips counting; `total` is then 0. */
  readonly uncounted?: boolean
}

export interface EntryPage {
  readonly entries: readonly RegistryEntry[]
  /** All entries that match, regardless of `limit` and `after`. 0 if the query is `uncounted`. */
  readonly total: number
}

/** `taken`: another owner has this id. `full`: the store is at capacity. `crowded`: the owner is at its quota. */
export type PutResult = 'added' | 'replaced' | 'taken' | 'full' | 'crowded'

/** A catalog that the registry reads again when it is due. */
export interface SyncedCatalog {
  readonly url: string
  /** Owner of the catalog and of the agents in it. */
  readonly owner?: string
  /** When to read it again, in milliseconds since 1970. */
  readonly due: number
  /** When it was last read, in milliseconds since 1970. */
  readonly readAt: number
  /** Failures to read it since then. */
  readonly failures: number
  readonly etag?: string
  /** Ids of agents whose cards are inline in the catalog. They are removed when the catalog no longer contains them. */
  readonly inline: readonly string[]
}

export type ChangeType = 'registered' | 'updated' | 'status' | 'removed'

export interface StoredChange {
  /** Consecutive, in the order in which changes were stored. */
  readonly number: number
  readonly type: ChangeType
  readonly id: string
}

export interface ChangePage {
  /** Changes after the given number, oldest first; undefined if the store has already dropped some of them. */
  readonly changes: readonly StoredChange[] | undefined
  /** Number of the latest change. */
  readonly latest: number
}

/** Stores entries and their changes. Replicas of one registry share one store. */
export interface RegistryStore {
  /** Adds or replaces an entry. `maxOwned` is the number of entries that its owner may have. */
  put(entry: RegistryEntry, index: EntryIndex, limits?: { readonly maxOwned?: number }): Promise<PutResult>
  /** Updates an existing entry and keeps its owner. Returns whether the entry exists. */
  note(entry: RegistryEntry, index: EntryIndex, change?: 'updated' | 'status'): Promise<boolean>
  get(id: string): Promise<RegistryEntry | undefined>
  /** Sets when an agent was last seen and, if given, its `trouble`; null clears it. Returns the updated entry. */
  touch(id: string, seen: number, trouble?: UnhealthyReason | null): Promise<RegistryEntry | undefined>
  /** Returns whether the entry existed. */
  remove(id: string): Promise<boolean>
  find(query: EntryQuery): Promise<EntryPage>
  /** Removes at most `limit` entries last seen before `seenBefore`. Returns their ids. */
  expire(kind: EntryKind, seenBefore: number, limit: number): Promise<readonly string[]>
  /** Entries to check by that time, the most overdue first. */
  due(by: number, limit: number): Promise<readonly RegistryEntry[]>
  /** Sets when to check an entry next. */
  schedule(id: string, due: number): Promise<void>
  /** All synced catalogs. Not paged: there are few. */
  catalogs(): Promise<readonly SyncedCatalog[]>
  keepCatalog(catalog: SyncedCatalog): Promise<void>
  /** Returns whether the catalog existed. */
  dropCatalog(url: string): Promise<boolean>
  /** Changes after a number. The store keeps a bounded number of them. */
  changes(after: number, limit: number): Promise<ChangePage>
  /** Resolves when there may be a change after `after`, or when the signal aborts. It may resolve early, never late. */
  wait(after: number, signal: AbortSignal): Promise<void>
  /** Acquires or extends a lease. Returns whether `holder` has it for the next `ttl` milliseconds. */
  lease(name: string, holder: string, ttl: number): Promise<boolean>
  /** What operators share: their sessions, and the probes of agents. Without it, each process has its own. */
  readonly operator?: OperatorState
  close(): Promise<void>
}

interface EntryBase {
  /** The `agent_id` of a mesh peer, or the card URL of an A2A agent. */
  readonly id: string
  readonly name: string
  /** The URL that callers send requests to. */
  readonly endpoint: string
  /** The principal that may change the entry. If missing, only the operator may. */
  readonly owner?: string
  /** When the agent was last seen, in milliseconds since 1970. */
  readonly seen: number
  /** Why the agent is unhealthy although it was seen. */
  readonly trouble?: UnhealthyReason
}
