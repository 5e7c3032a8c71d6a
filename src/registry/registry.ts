import { systemClock } from '../core/base/clock.ts'
import { defined } from '../core/base/json.ts'
import { consoleLogger } from '../core/base/logger.ts'
import { checkOptions } from '../core/base/options.ts'
import type { ConnectOptions } from '../core/client/options.ts'
import type { MeshDiscoverAgents } from '../mesh/envelope.ts'
import type { MeshPeer } from '../mesh/peer.ts'
import { type AddOptions, createA2AAgents } from './a2a-agents.ts'
import type { CatalogReport } from './catalog/import-catalog.ts'
import { createCatalogSync } from './catalog/sync-catalogs.ts'
import { type FollowOptions, followChanges, type RegistryChange } from './changes.ts'
import { type AgentListing, listingOf, type RegistryEntry, type RegistryStore, type SyncedCatalog } from './entry.ts'
import { createFind, type FindQuery, type FoundAgents } from './find.ts'
import { createMaintenance } from './maintenance.ts'
import { createMemoryRegistryStore } from './memory-store.ts'
import { createDiscover, createMeshAgents, type DiscoverResult } from './mesh-agents.ts'
import { type RegistryOptions, registryChecks } from './options.ts'
import type { OnProbe } from './probe-record.ts'
import { lifetimeBounds } from './read-card.ts'
import { createSearch, type SearchQuery, type SearchResult } from './search.ts'

const [minute, day] = [60_000, 86_400_000]

/** Lists agents with their capabilities and their health. */
export interface Registry {
  /** The registry as a mesh peer, with the `agent_id` `registry`. Throws if the registry is not in the mesh. */
  readonly peer: MeshPeer
  readonly hasMesh: boolean
  readonly entries: RegistryStore
  /** Adds the A2A agent at this URL, or with its card at this URL. Throws `A2AError` if it cannot be added. */
  add(url: string | URL, options?: AddOptions): Promise<AgentListing>
  /** Adds the agents of a catalog and its nested catalogs, and reads it again when its caching headers say so. */
  addCatalog(url: string | URL, options?: AddOptions): Promise<CatalogReport>
  /** The catalogs that are read again. */
  catalogs(): Promise<readonly SyncedCatalog[]>
  /** Stops reading a catalog and removes the agents whose cards are inline in it. Returns whether it existed. */
  removeCatalog(url: string | URL): Promise<boolean>
  get(id: string): Promise<RegistryEntry | undefined>
  /** Returns whether the entry existed. */
  remove(id: string): Promise<boolean>
  /** Finds agents of both kinds. */
  search(query?: SearchQuery): Promise<SearchResult>
  /** Finds healthy agents, and connects to them one by one, the best first. */
  find(query: FindQuery, options?: ConnectOptions): FoundAgents
  /** Finds mesh peers as `discover_agents` of the mesh does. */
  discover(query?: MeshDiscoverAgents['payload']): Promise<DiscoverResult>
  /** Yields changes, including those of other replicas. */
  follow(options?: FollowOptions): AsyncGenerator<RegistryChange>
  isHealthy(entry: RegistryEntry): boolean
  describe(entry: RegistryEntry): AgentListing
  /** Checks an agent now: pings a mesh peer, or reads the card of an A2A agent again. */
  probe(id: string): Promise<boolean>
  /** Removes expired entries and checks due ones. Runs every 15 seconds unless configured otherwise. */
  maintain(): Promise<void>
  /** Stops maintenance and ends the iterations of `follow`. Does not close the store: its creator does. */
  close(): Promise<void>
}

/**
 * Creates a registry: a directory of A2A and mesh agents that reads their cards, checks their health and answers
 * searches.
 */
export function createRegistry(options: RegistryOptions): Registry {
  checkOptions('createRegistry', options, registryChecks, ['fetch'])
  return openRegistry(options)
}

/** Creates a registry from options that were checked, among others, and observes its probes. */
export function openRegistry(options: RegistryOptions, onProbe?: OnProbe): Registry {
  const { fetch, entries = createMemoryRegistryStore(), logger = consoleLogger, probe } = options
  const { unhealthyAfter = 90_000, removeAfter = 15 * minute } = options
  const clock = options.clock ?? (options.now ? { ...systemClock, now: options.now } : systemClock)
  const now = () => clock.now()
  const closing = new AbortController()
  const healthySince = () => now() - unhealthyAfter
  const isHealthy = ({ kind, seen, trouble }: RegistryEntry) =>
    trouble === undefined && (kind === 'a2a' || seen >= healthySince())
  const describe = (entry: RegistryEntry) => listingOf(entry, isHealthy(entry))
  const search = createSearch({ entries, isHealthy, healthySince })
  const discover = createDiscover({ entries, isHealthy, healthySince })
  const nextProbe = () => (probe ? now() + (probe.every ?? 5 * minute) : undefined)
  const mesh = isMesh(options)
    ? createMeshAgents({ ...options, entries, now, unhealthyAfter, isHealthy, search, discover, nextProbe })
    : undefined
  const agents = createA2AAgents({
    entries,
    fetch,
    clock,
    describe,
    maxPerOwner: options.maxPerOwner ?? 1_000,
    ...defined({ a2a: options.a2a, probe }),
  })

  async function check(entry: RegistryEntry): Promise<boolean> {
    const at = now()
    const start = performance.now()
    const isUp = await checkByKind(entry)
    const latency = Math.round(performance.now() - start)
    const problem = onProbe && !isUp ? (await entries.get(entry.id))?.trouble : undefined
    onProbe?.(entry.id, defined({ at, isUp, latency, problem }))
    return isUp
  }

  async function checkByKind(entry: RegistryEntry): Promise<boolean> {
    if (entry.kind === 'a2a') return await agents.check(entry)
    return mesh ? await mesh.probe(entry) : false
  }

  /** Skips mesh peers that sent a message recently. */
  async function checkIfDue(entry: RegistryEntry): Promise<void> {
    const due = nextProbe()
    if (entry.kind === 'mesh' && due !== undefined) {
      await entries.schedule(entry.id, due)
      if (entry.seen > now() - unhealthyAfter / 2) return
    }
    await check(entry)
  }

  const catalogs = createCatalogSync({
    entries,
    agents,
    fetch,
    clock,
    logger,
    lifetimes: lifetimeBounds(options.a2a),
    removeAfter: options.a2a?.removeAfter ?? 7 * day,
    ...defined({ options: options.catalogs }),
  })
  const maintenance = createMaintenance({
    entries,
    clock,
    logger,
    check: checkIfDue,
    alongside: catalogs.syncDue,
    removeAfter: { mesh: removeAfter, a2a: options.a2a?.removeAfter ?? 7 * day },
    ...options.maintenance,
  })
  if (options.maintenance !== false) maintenance.start()

  return {
    get peer() {
      if (mesh) return mesh.peer
      throw new TypeError('This registry is not in the mesh: pass createRegistry() a key, and keys or firstHandshake.')
    },
    hasMesh: mesh !== undefined,
    entries,
    add: async (url, addOptions) => describe(await agents.add(url, addOptions)),
    addCatalog: catalogs.add,
    catalogs: () => entries.catalogs(),
    removeCatalog: catalogs.remove,
    get: (id) => entries.get(id),
    remove: (id) => entries.remove(id),
    search,
    find: createFind({
      entries,
      fetch,
      peer: mesh?.peer,
      healthySince,
      ...defined({ verifyCard: options.a2a?.verifyCard }),
    }),
    discover,
    follow: (followOptions = {}) => followChanges(entries, followOptions, closing.signal),
    isHealthy,
    describe,
    async probe(id) {
      const entry = await entries.get(id)
      return entry ? await check(entry) : false
    },
    async maintain() {
      await Promise.all([maintenance.run(), catalogs.syncDue()])
    },
    async close() {
      closing.abort()
      await Promise.all([maintenance.stop(), catalogs.stop()])
    },
  }
}

/** Whether the options say how to trust peers, or that trust is not needed. */
function isMesh({ key, keys, firstHandshake, requireAuth }: RegistryOptions): boolean {
  return requireAuth !== undefined || Boolean(key ?? keys ?? firstHandshake)
}
