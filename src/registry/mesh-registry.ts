import type { Fetch } from '../http/outbound.ts'
import type { MeshCard, MeshDiscoverAgents } from '../mesh/envelope.ts'
import { MeshError, MeshRefusal } from '../mesh/errors.ts'
import type { MeshCall, MeshMethod, MeshPeerOptions } from '../mesh/options.ts'
import { createMeshPeer, type MeshPeer } from '../mesh/peer.ts'
import type { JsonObject } from '../protocol/model.ts'
import { createChanges, type RegistryChange } from './changes.ts'
import type { EntryStore, RegistryEntry } from './entry-store.ts'
import { createMemoryEntries } from './memory-entries.ts'
import { registrationOf } from './registration.ts'

/** A `fetch` for addresses that others chose: `createGuardedFetch()` of `parley-a2a/guard`. */
export type RegistryFetch = Fetch & { check(url: string): Promise<void> }

export interface RegistryOptions
  extends Omit<MeshPeerOptions, 'card' | 'directory' | 'refuseHandshake' | 'onMessage' | 'methods'> {
  /** Checks the endpoints of agents, and probes them. */
  readonly fetch: RegistryFetch
  /** In memory unless they are given. */
  readonly entries?: EntryStore
  /** What is said of the registry itself. */
  readonly card?: Partial<Omit<MeshCard, 'agent_id'>>
  /** Milliseconds of silence after which an agent is unhealthy. 90 seconds unless it is given. */
  readonly unhealthyAfter?: number
  /** Milliseconds of silence after which an agent is removed. 15 minutes unless it is given. */
  readonly removeAfter?: number
}

/** The agent with the id `registry`. */
export interface Registry {
  readonly peer: MeshPeer
  /** From now on, until the signal ends it or the reader is too slow. */
  follow(signal: AbortSignal): AsyncGenerator<RegistryChange>
  isHealthy(entry: RegistryEntry): boolean
  discover(query?: MeshDiscoverAgents['payload']): Promise<Found>
  /** Removes whom nobody heard of for too long. Call it now and then. */
  upkeep(): Promise<void>
  /** Asks an agent whether it lives. */
  probe(id: string): Promise<boolean>
}

interface Found {
  readonly agents: readonly AgentInfo[]
  readonly total_count: number
  readonly query_time_ms: number
}

export interface AgentInfo {
  readonly agent_id: string
  readonly name: string
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  readonly endpoint: string
  readonly last_heartbeat: string
}

const expireAtOnce = 1_000

export function createRegistry(options: RegistryOptions): Registry {
  const { fetch, entries = createMemoryEntries(), now = Date.now } = options
  const { unhealthyAfter = 90_000, removeAfter = 900_000 } = options
  const changes = createChanges()
  const isHealthy = ({ seen, trouble }: RegistryEntry) => trouble === undefined && seen >= now() - unhealthyAfter

  async function register(card: MeshCard, call: MeshCall): Promise<string | undefined> {
    const known = await entries.get(card.agent_id)
    if (known && !isProven(known, call)) return 'This name belongs to an agent that signs.'
    const registration = await registrationOf(card, call, (url) => fetch.check(url), now())
    if ('refusal' in registration) return registration.refusal
    if (!registration.entry) return undefined
    if (!(await entries.put(registration.entry))) return 'The registry is full.'
    changes.tell('registered', card.agent_id)
    return undefined
  }

  /** Every message is a sign of life, and a goodbye is the last one. */
  async function hear(call: MeshCall): Promise<void> {
    const entry = await entries.get(call.from)
    if (!entry || !isProven(entry, call)) return
    if (call.envelope.message_type !== 'goodbye') {
      await entries.touch(call.from, now())
    } else if (await entries.remove(call.from)) {
      changes.tell('removed', call.from)
    }
  }

  async function mark(entry: RegistryEntry, seen: number, trouble: RegistryEntry['trouble']): Promise<RegistryEntry> {
    const touched = await entries.touch(entry.id, seen, trouble ?? null)
    if (touched && touched.trouble !== entry.trouble) changes.tell('status', entry.id)
    return touched ?? entry
  }

  const heartbeat: MeshMethod = async ({ status = 'healthy' }, call) => {
    if (status !== 'healthy' && status !== 'unhealthy') {
      throw new MeshRefusal('INVALID_STATUS', 'status must be healthy or unhealthy.')
    }
    const entry = await entries.get(call.from)
    if (!entry || !isProven(entry, call)) {
      throw new MeshRefusal('NOT_REGISTERED', 'Register first: shake hands with metadata.endpoint in your card.')
    }
    await mark(entry, now(), status === 'unhealthy' ? 'said' : undefined)
    return { status, unhealthy_after: unhealthyAfter / 1000 }
  }

  const lookup: MeshMethod = async ({ agent_id: id }) => {
    const entry = typeof id === 'string' ? await entries.get(id) : undefined
    if (!entry) throw new MeshRefusal('UNKNOWN_AGENT', 'No agent is registered under this agent_id.')
    return { agent: infoOf(entry, isHealthy(entry)), agent_card: asJson(entry.card) }
  }

  async function discover({ capabilities, filters = {} }: MeshDiscoverAgents['payload'] = {}): Promise<Found> {
    const begun = performance.now()
    const { status = 'all', max_results: limit = 100 } = filters
    const health = status === 'all' ? undefined : { isHealthy: status === 'healthy', since: now() - unhealthyAfter }
    const found = await entries.find({ limit, ...(capabilities && { capabilities }), ...(health && { health }) })
    const agents = found.entries.map((entry) => infoOf(entry, isHealthy(entry)))
    return { agents, total_count: found.total, query_time_ms: performance.now() - begun }
  }

  const peer = createMeshPeer({
    ...options,
    card: {
      name: 'Registry',
      version: '1.0.0',
      description: 'Knows which agents there are, what they can do, and how they are.',
      capabilities: ['registry'],
      supported_protocols: ['A2A/1.0'],
      ...options.card,
      agent_id: 'registry',
    },
    methods: { 'registry.heartbeat': heartbeat, 'registry.lookup': lookup },
    directory: { discover },
    refuseHandshake: register,
    onMessage: hear,
  })

  return {
    peer,
    isHealthy,
    discover,
    follow: (signal) => changes.follow(signal),
    async upkeep() {
      for (;;) {
        const removed = await entries.expire(now() - removeAfter, expireAtOnce)
        for (const id of removed) changes.tell('removed', id)
        if (removed.length < expireAtOnce) return
      }
    },
    async probe(id) {
      const entry = await entries.get(id)
      if (!entry) return false
      const isAlive = await answers(peer, entry, fetch)
      const trouble = entry.trouble === 'said' ? entry.trouble : isAlive ? undefined : 'unreachable'
      await mark(entry, isAlive ? now() : entry.seen, trouble)
      return isAlive
    },
  }
}

/** Who registered with a signature is not spoken for without one. */
function isProven({ fingerprint }: RegistryEntry, { identity }: MeshCall): boolean {
  return fingerprint === undefined || identity !== undefined
}

/** An agent that refuses our question is alive as well. */
async function answers(peer: MeshPeer, { id, endpoint }: RegistryEntry, fetch: Fetch): Promise<boolean> {
  try {
    await peer.link({ agentId: id, endpoint, fetch, timeout: 5_000 }).request('registry.ping')
    return true
  } catch (error) {
    if (error instanceof MeshRefusal) return true
    return error instanceof MeshError && error.code === 'NOT_FOUND' && error.details?.what === 'method'
  }
}

function infoOf({ id, card, endpoint, seen }: RegistryEntry, isHealthy: boolean) {
  return {
    agent_id: id,
    name: card.name,
    capabilities: card.capabilities,
    status: isHealthy ? 'healthy' : 'unhealthy',
    endpoint,
    last_heartbeat: new Date(seen).toISOString(),
  } as const satisfies AgentInfo
}

function asJson(card: MeshCard): JsonObject {
  return JSON.parse(JSON.stringify(card))
}
