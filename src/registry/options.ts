import type { Clock } from '../base/clock.ts'
import type { ConnectOptions } from '../client/options.ts'
import type { VerifyCard } from '../client/verify-card.ts'
import type { Fetch } from '../http/fetch.ts'
import type { MeshCard } from '../mesh/envelope.ts'
import type { MeshPeerOptions } from '../mesh/options.ts'
import type { CatalogOptions } from './catalog/walk-catalogs.ts'
import type { EntryStore } from './entry.ts'
import type { AgentListing } from './listing.ts'

/** A `fetch` for addresses that others chose: `createGuardedFetch()` of `parley-a2a/node`. */
export type RegistryFetch = Fetch & { check(url: string): Promise<void> }

export interface A2AOptions {
  /**
   * Whose signatures are trusted, as `cardVerifier` of `parley-a2a/auth` says: a signed card that it does not
   * believe is refused. Without it, a signature counts that a key of the card's own origin made, and others are noted.
   */
  readonly verifyCard?: VerifyCard
  /** Refuses cards that are not signed. */
  readonly requireSignature?: boolean
  /** Bytes. 256 KiB unless it is given. */
  readonly maxCardBytes?: number
  /** Milliseconds that reading a card may take. 10 seconds unless it is given. */
  readonly timeout?: number
  /** Bounds of what caching headers say, in milliseconds: a minute and a day; an hour where they say nothing. */
  readonly minAge?: number
  readonly maxAge?: number
  readonly usualAge?: number
  /** Milliseconds after which an agent is removed whose card could not be read. A week unless it is given. */
  readonly removeAfter?: number
}

export interface ProbeOptions {
  /** Milliseconds. 5 minutes unless it is given. */
  readonly every?: number
  /** What A2A agents are sent, to see whether they complete a task. Nothing unless it is given. */
  readonly message?: string
  /** Milliseconds. 30 seconds unless it is given. */
  readonly timeout?: number
  /**
   * Credentials for an agent that needs some, of `parley-a2a/client/auth`. They go to the `endpoint` that its own card
   * names: give them only for agents, and addresses, that you know.
   */
  readonly auth?: (agent: AgentListing) => ConnectOptions['auth'] | Promise<ConnectOptions['auth']>
}

export interface UpkeepOptions {
  /** Milliseconds. 15 seconds unless it is given. */
  readonly interval?: number
  /** Agents that are asked at the same time. 8 unless it is given. */
  readonly concurrency?: number
}

/** Who gives no `key`, `keys`, `firstHandshake` or `requireAuth` has a registry of A2A agents only. */
export interface RegistryOptions
  extends Omit<MeshPeerOptions, 'card' | 'directory' | 'refuseHandshake' | 'onMessage' | 'methods'> {
  /** Asks agents and catalogs, and checks their addresses. */
  readonly fetch: RegistryFetch
  /** In memory unless they are given. */
  readonly entries?: EntryStore
  /** What is said in the mesh of the registry itself. */
  readonly card?: Partial<Omit<MeshCard, 'agent_id'>>
  /** Milliseconds of silence after which a peer of the mesh is unhealthy. 90 seconds unless it is given. */
  readonly unhealthyAfter?: number
  /** Milliseconds of silence after which a peer of the mesh is removed. 15 minutes unless it is given. */
  readonly removeAfter?: number
  readonly a2a?: A2AOptions
  /** Asks agents by itself how they are. Without it, cards are read again, and nothing else is asked. */
  readonly probe?: ProbeOptions
  readonly upkeep?: UpkeepOptions | false
  readonly catalogs?: CatalogOptions
  /** How many agents somebody may have who adds them by HTTP, or as `owner`. 1000 unless it is given. */
  readonly maxPerOwner?: number
  readonly clock?: Clock
}
