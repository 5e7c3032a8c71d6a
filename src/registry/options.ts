import type { Clock } from '../core/base/clock.ts'
import {
  aFunction,
  anObject,
  anyOf,
  clockCheck,
  flag,
  group,
  having,
  integer,
  isAbove,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
} from '../core/base/options.ts'
import type { ConnectOptions, VerifyCard } from '../core/client/options.ts'
import type { Fetch } from '../core/http/fetch.ts'
import type { MeshCard } from '../mesh/envelope.ts'
import { type MeshPeerOptions, meshPeerChecks } from '../mesh/options.ts'
import type { CatalogOptions } from './catalog/walk-catalogs.ts'
import type { AgentListing, RegistryStore } from './entry.ts'

/** A `fetch` that is safe for URLs chosen by others: `createGuardedFetch()` of `parley-a2a/node`. */
export type RegistryFetch = Fetch & { check(url: string): Promise<void> }

export interface A2AOptions {
  /**
   * Verifies signed cards, such as `createCardVerifier` of `parley-a2a/auth`; a card that fails is refused. Defaults to
   * trusting keys from the card's own origin; then a failed verification is recorded and the card is listed anyway.
   */
  readonly verifyCard?: VerifyCard
  /** Refuses unsigned cards. */
  readonly requireSignature?: boolean
  /** Maximum card size in bytes. Defaults to 256 KiB. */
  readonly maxCardBytes?: number
  /** Timeout for reading a card, in milliseconds. Defaults to 10 seconds. */
  readonly timeout?: number
  /** Shortest time before a card is read again, in milliseconds, whatever its caching headers say. Defaults to a minute. */
  readonly minAge?: number
  /** Longest time before a card is read again, in milliseconds, whatever its caching headers say. Defaults to a day. */
  readonly maxAge?: number
  /** Time before a card without caching headers is read again, in milliseconds. Defaults to an hour. */
  readonly usualAge?: number
  /** Time after which an agent whose card cannot be read is removed, in milliseconds. Defaults to a week. */
  readonly removeAfter?: number
}

export interface ProbeOptions {
  /** Interval in milliseconds. Defaults to 5 minutes. */
  readonly every?: number
  /** Message sent to A2A agents to see whether they complete a task. Without it, no message is sent. */
  readonly message?: string
  /** Timeout in milliseconds. Defaults to 30 seconds. */
  readonly timeout?: number
  /**
   * Credentials for an agent that requires them, from `parley-a2a/client/auth`. They are sent to the `endpoint` in the
   * agent's own card: return them only for agents and URLs that you trust.
   */
  readonly auth?: (agent: AgentListing) => ConnectOptions['auth'] | Promise<ConnectOptions['auth']>
}

export interface MaintenanceOptions {
  /** Interval in milliseconds. Defaults to 15 seconds. */
  readonly interval?: number
  /** Number of agents checked concurrently. Defaults to 8. */
  readonly concurrency?: number
}

/** Without `key`, `keys`, `firstHandshake` and `requireAuth`, the registry lists A2A agents only. */
export interface RegistryOptions
  extends Omit<MeshPeerOptions, 'card' | 'directory' | 'refuseHandshake' | 'onMessage' | 'methods'> {
  /** Calls agents, fetches catalogs, and checks their addresses. */
  readonly fetch: RegistryFetch
  /** Defaults to a store in memory. */
  readonly entries?: RegistryStore
  /** The registry's own mesh card. */
  readonly card?: Partial<Omit<MeshCard, 'agent_id'>>
  /** Time without messages after which a mesh peer is unhealthy, in milliseconds. Defaults to 90 seconds. */
  readonly unhealthyAfter?: number
  /** Time without messages after which a mesh peer is removed, in milliseconds. Defaults to 15 minutes. */
  readonly removeAfter?: number
  readonly a2a?: A2AOptions
  /** Probes agents at intervals. Without it, the registry only reads cards again. */
  readonly probe?: ProbeOptions
  readonly maintenance?: MaintenanceOptions | false
  readonly catalogs?: CatalogOptions
  /** Maximum number of agents per owner. Defaults to 1000. */
  readonly maxPerOwner?: number
  readonly clock?: Clock
}

const { refuseHandshake: _refuse, onMessage: _onMessage, methods: _methods, ...meshChecks } = meshPeerChecks

export const registryChecks: OptionChecks<RegistryOptions> = {
  ...meshChecks,
  fetch: aFunction,
  entries: having('a store such as createMemoryRegistryStore()', 'put', 'find'),
  card: anObject,
  unhealthyAfter: milliseconds({ min: 1 }),
  removeAfter: milliseconds({ min: 1 }),
  a2a: group<A2AOptions>({
    verifyCard: aFunction,
    requireSignature: flag,
    maxCardBytes: integer({ min: 1 }),
    timeout: milliseconds({ min: 1 }),
    minAge: milliseconds(),
    maxAge: milliseconds(),
    usualAge: milliseconds(),
    removeAfter: milliseconds(),
  }),
  probe: group<ProbeOptions>({
    every: milliseconds({ min: 1 }),
    message: text,
    timeout: milliseconds({ min: 1 }),
    auth: aFunction,
  }),
  maintenance: anyOf(
    'false, or an object with interval and concurrency',
    oneOf(false),
    group<MaintenanceOptions>({ interval: milliseconds({ min: 1 }), concurrency: integer({ min: 1 }) }),
  ),
  catalogs: group<CatalogOptions>({
    maxKept: integer(),
    maxDepth: integer(),
    maxCatalogs: integer(),
    maxEntries: integer(),
    maxBytes: isAbove(0),
    timeout: milliseconds({ min: 1 }),
  }),
  maxPerOwner: isAbove(0),
  clock: clockCheck,
}
