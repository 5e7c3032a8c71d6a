import { systemClock } from '../base/clock.ts'
import { consoleLogger } from '../base/logger.ts'
import type { ConnectOptions } from '../client/options.ts'
import type { MeshDiscoverAgents } from '../mesh/envelope.ts'
import type { MeshPeer } from '../mesh/peer.ts'
import { type AddOptions, createA2AAgents } from './a2a-agents.ts'
import type { CatalogReport } from './catalog/import-catalog.ts'
import { createKeptCatalogs } from './catalog/sync-catalogs.ts'
import { type FollowOptions, follow, type RegistryChange } from './changes.ts'
import type { EntryStore, KeptCatalog, RegistryEntry } from './entry.ts'
import { createFind, type FindQuery, type FoundAgents } from './find.ts'
import { ageBounds } from './freshness.ts'
import { type AgentListing, listingOf } from './listing.ts'
import { createUpkeep } from './maintenance.ts'
import { createMemoryEntries } from './memory-store.ts'
import { createDiscover, createMeshSide, type Found } from './mesh-agents.ts'
import type { RegistryOptions } from './options.ts'
import { createSearch, type SearchQuery, type SearchResult } from './search.ts'

const [minute, day] = [60_000, 86_400_000]

/** Knows which agents there are, what they can do, and how they are. */
export interface Registry {
  /** The agent with the id `registry` of the mesh. Throws if the registry is none. */
  readonly peer: MeshPeer
  readonly hasMesh: boolean
  readonly entries: EntryStore
  /** Lists an A2A agent: where it, or its card, is. Throws `A2AError` if it is not listed. */
  add(url: string | URL, options?: AddOptions): Promise<AgentListing>
  /** Lists what a catalog, and those in it, list, and reads it again when its caching headers say so. */
  addCatalog(url: string | URL, options?: AddOptions): Promise<CatalogReport>
  /** Those that are read again. */
  catalogs(): Promise<readonly KeptCatalog[]>
  /** No longer reads it, and removes those whose cards lie in it. Answers whether it was kept. */
  removeCatalog(url: string | URL): Promise<boolean>
  get(id: string): Promise<RegistryEntry | undefined>
  /** Answers whether there was one. */
  remove(id: string): Promise<boolean>
  /** Agents of both kinds. */
  search(query?: SearchQuery): Promise<SearchResult>
  /** The same, as clients that are connected when it is their turn, the best first. */
  find(query: FindQuery, options?: ConnectOptions): FoundAgents
  /** As the mesh discovers. */
  discover(query?: MeshDiscoverAgents['payload']): Promise<Found>
  /** What changes, also by other replicas. */
  follow(options?: FollowOptions): AsyncGenerator<RegistryChange>
  isHealthy(entry: RegistryEntry): boolean
  describe(entry: RegistryEntry): AgentListing
  /** Looks now how an agent is: asks a peer, or reads a card again. */
  probe(id: string): Promise<boolean>
  /** What is done by itself every 15 seconds: removes who is too old, and looks at who is due. */
  upkeep(): Promise<void>
  /** Ends upkeep and those who follow. The store stays its maker's to close. */
  close(): Promise<void>
}

export function createRegistry(options: RegistryOptions): Registry {
  const { fetch, entries = createMemoryEntries(), logger = consoleLogger, probe: probing } = options
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
  const nextProbe = () => (probing ? now() + (probing.every ?? 5 * minute) : undefined)
  const mesh = isMesh(options)
    ? createMeshSide({ ...options, entries, now, unhealthyAfter, isHealthy, search, discover, nextProbe })
    : undefined
  const agents = createA2AAgents({
    entries,
    fetch,
    clock,
    describe,
    maxPerOwner: options.maxPerOwner ?? 1_000,
    ...(options.a2a && { a2a: options.a2a }),
    ...(probing && { probe: probing }),
  })

  async function look(entry: RegistryEntry): Promise<boolean> {
    if (entry.kind === 'a2a') return await agents.look(entry)
    return mesh ? await mesh.probe(entry) : false
  }

  /** Who was heard of lately need not be asked. */
  async function lookWhenDue(entry: RegistryEntry): Promise<void> {
    const due = nextProbe()
    if (entry.kind === 'mesh' && due !== undefined) {
      await entries.schedule(entry.id, due)
      if (entry.seen > now() - unhealthyAfter / 2) return
    }
    await look(entry)
  }

  const catalogs = createKeptCatalogs({
    entries,
    agents,
    fetch,
    clock,
    logger,
    ages: ageBounds(options.a2a),
    removeAfter: options.a2a?.removeAfter ?? 7 * day,
    ...(options.catalogs && { options: options.catalogs }),
  })
  const upkeep = createUpkeep({
    entries,
    clock,
    logger,
    look: lookWhenDue,
    beside: catalogs.readDue,
    removeAfter: { mesh: removeAfter, a2a: options.a2a?.removeAfter ?? 7 * day },
    ...options.upkeep,
  })
  if (options.upkeep !== false) upkeep.start()

  return {
    get peer() {
      if (mesh) return mesh.peer
      throw new TypeError('This registry is not in the mesh: give createRegistry() a key, and keys or firstHandshake.')
    },
    hasMesh: mesh !== undefined,
    entries,
    add: async (url, adding) => describe(await agents.add(url, adding)),
    addCatalog: catalogs.add,
    catalogs: () => entries.catalogs(),
    removeCatalog: catalogs.forget,
    get: (id) => entries.get(id),
    remove: (id) => entries.remove(id),
    search,
    find: createFind({
      entries,
      fetch,
      peer: mesh?.peer,
      healthySince,
      ...(options.a2a?.verifyCard && { verifyCard: options.a2a.verifyCard }),
    }),
    discover,
    follow: (following = {}) => follow(entries, following, closing.signal),
    isHealthy,
    describe,
    async probe(id) {
      const entry = await entries.get(id)
      return entry ? await look(entry) : false
    },
    async upkeep() {
      await Promise.all([upkeep.run(), catalogs.readDue()])
    },
    async close() {
      closing.abort()
      await Promise.all([upkeep.stop(), catalogs.stop()])
    },
  }
}

/** Whether anything is said of how peers are trusted. */
function isMesh({ key, keys, firstHandshake, requireAuth }: RegistryOptions): boolean {
  const isOpen = (requireAuth ?? globalThis.process?.env.NODE_ENV !== 'development') === false
  return isOpen || requireAuth === true || Boolean(key ?? keys ?? firstHandshake)
}
