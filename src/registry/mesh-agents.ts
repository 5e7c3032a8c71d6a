import type { JsonObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import type { MeshCard, MeshDiscoverAgents } from '../mesh/envelope.ts'
import { MeshError, MeshRefusal } from '../mesh/errors.ts'
import { importPublicKey } from '../mesh/keys.ts'
import type { MeshCall, MeshMethod } from '../mesh/options.ts'
import { createMeshPeer, type MeshPeer } from '../mesh/peer.ts'
import { A2AError } from '../protocol/errors.ts'
import type { EntryStore, MeshEntry, RegistryEntry } from './entry.ts'
import type { RegistryOptions } from './options.ts'
import { conditionsOf, rankOf, type SearchQuery, type SearchResult, termsOf } from './search.ts'

export interface AgentInfo {
  readonly agent_id: string
  readonly name: string
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  readonly endpoint: string
  readonly last_heartbeat: string
}

export interface Found {
  readonly agents: readonly AgentInfo[]
  readonly total_count: number
  readonly query_time_ms: number
}

export interface MeshSideOptions extends RegistryOptions {
  readonly entries: EntryStore
  readonly now: () => number
  readonly unhealthyAfter: number
  readonly isHealthy: (entry: RegistryEntry) => boolean
  readonly search: (query: SearchQuery) => Promise<SearchResult>
  readonly discover: (query?: MeshDiscoverAgents['payload']) => Promise<Found>
  /** When a peer that was heard of now is to be probed. */
  readonly nextProbe: () => number | undefined
}

/** The agent of the mesh with the id `registry`. */
export interface MeshSide {
  readonly peer: MeshPeer
  /** Asks a peer whether it lives. */
  probe(entry: MeshEntry): Promise<boolean>
}

export function createMeshSide(options: MeshSideOptions): MeshSide {
  const { fetch, entries, now, unhealthyAfter, isHealthy, search, discover, nextProbe } = options

  async function register(card: MeshCard, call: MeshCall): Promise<string | undefined> {
    if (card.agent_id === 'registry') return 'This name is that of the registry itself.'
    const known = await entries.get(card.agent_id)
    if (known?.kind === 'mesh' && !isProven(known, call)) return 'This name belongs to an agent that signs.'
    const registration = await registrationOf(card, call, (url) => fetch.check(url), now())
    if ('refusal' in registration) return registration.refusal
    const { entry } = registration
    if (!entry) return undefined
    const due = nextProbe()
    const index = { terms: termsOf(entry), rank: rankOf(entry), ...(due !== undefined && { due }) }
    switch (await entries.put(entry, index)) {
      case 'full':
      case 'crowded':
        return 'The registry is full.'
      case 'taken':
        return 'This name belongs to somebody else.'
      case 'added':
      case 'replaced':
        return undefined
    }
  }

  async function entryOf(call: MeshCall): Promise<MeshEntry | undefined> {
    const entry = await entries.get(call.from)
    return entry?.kind === 'mesh' && isProven(entry, call) ? entry : undefined
  }

  /** Every message is a sign of life, and a goodbye is the last one. */
  async function hear(call: MeshCall): Promise<void> {
    if (!(await entryOf(call))) return
    if (call.envelope.message_type === 'goodbye') await entries.remove(call.from)
    else await entries.touch(call.from, now())
  }

  const heartbeat: MeshMethod = async ({ status = 'healthy' }, call) => {
    if (status !== 'healthy' && status !== 'unhealthy') {
      throw new MeshRefusal('INVALID_STATUS', 'status must be healthy or unhealthy.')
    }
    if (!(await entryOf(call))) {
      throw new MeshRefusal('NOT_REGISTERED', 'Register first: shake hands with metadata.endpoint in your card.')
    }
    await entries.touch(call.from, now(), status === 'unhealthy' ? 'said' : null)
    return { status, unhealthy_after: unhealthyAfter / 1000 }
  }

  const lookup: MeshMethod = async ({ agent_id: id }) => {
    const entry = typeof id === 'string' ? await entries.get(id) : undefined
    if (entry?.kind !== 'mesh') throw new MeshRefusal('UNKNOWN_AGENT', 'No agent is registered under this agent_id.')
    return { agent: infoOf(entry, isHealthy(entry)), agent_card: asJson(entry.card) }
  }

  const searchAll: MeshMethod = async ({ max_results: limit, cursor, ...query }) => {
    try {
      const given = { ...query, ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) }
      const { agents, totalCount, nextCursor, queryTimeMs } = await search(given as SearchQuery)
      return asJson({ agents, total_count: totalCount, next_cursor: nextCursor, query_time_ms: queryTimeMs })
    } catch (error) {
      throw error instanceof A2AError ? new MeshRefusal('INVALID_QUERY', error.message) : error
    }
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
    methods: { 'registry.heartbeat': heartbeat, 'registry.lookup': lookup, 'registry.search': searchAll },
    directory: { discover },
    refuseHandshake: register,
    onMessage: hear,
  })

  return {
    peer,
    async probe(entry) {
      const isAlive = await answers(peer, entry, fetch)
      const trouble = entry.trouble === 'said' ? entry.trouble : isAlive ? null : 'unreachable'
      await entries.touch(entry.id, isAlive ? now() : entry.seen, trouble)
      return isAlive
    },
  }
}

export interface DiscoverOptions extends Pick<MeshSideOptions, 'entries' | 'isHealthy'> {
  readonly healthySince: () => number
}

/** As the mesh discovers: peers with all of the capabilities, by name and id, and how many there are. */
export function createDiscover({ entries, isHealthy, healthySince }: DiscoverOptions): MeshSideOptions['discover'] {
  return async ({ capabilities, filters = {} } = {}) => {
    const begun = performance.now()
    const { status = 'all', max_results: limit = 100 } = filters
    const { terms } = conditionsOf(capabilities ? { capability: capabilities } : {})
    const health = status === 'all' ? undefined : { isHealthy: status === 'healthy', since: healthySince() }
    const found = await entries.find({ kind: 'mesh', terms, limit, ...(health && { health }) })
    const peers = found.entries.filter((entry) => entry.kind === 'mesh')
    const agents = peers.map((entry) => infoOf(entry, isHealthy(entry)))
    return { agents, total_count: found.total, query_time_ms: performance.now() - begun }
  }
}

/** Rejects if the address may not be asked, as `createGuardedFetch().check` does. */
export type CheckEndpoint = (url: string) => Promise<void>

export type Registration = { readonly entry?: MeshEntry } | { readonly refusal: string }

/** Who registered with a signature is not spoken for without one. */
function isProven({ fingerprint }: MeshEntry, { identity }: MeshCall): boolean {
  return fingerprint === undefined || identity !== undefined
}

/** What a handshake asks for. One without an endpoint registers nobody: it comes from somebody who only searches. */
async function registrationOf(
  card: MeshCard,
  { identity }: MeshCall,
  check: CheckEndpoint,
  now: number,
): Promise<Registration> {
  const { endpoint, public_key: shown } = card.metadata ?? {}
  if (endpoint === undefined) return {}
  if (typeof endpoint !== 'string' || !/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    return { refusal: 'metadata.endpoint must be an absolute address by http or https.' }
  }
  try {
    await check(endpoint)
  } catch {
    return { refusal: 'metadata.endpoint is an address that this registry does not ask.' }
  }
  if (shown !== undefined && identity && !(await isKey(shown, identity.fingerprint))) {
    return { refusal: 'metadata.public_key is not the key that signed the handshake.' }
  }
  const proof = identity && { fingerprint: identity.fingerprint }
  return { entry: { kind: 'mesh', id: card.agent_id, name: card.name, card, endpoint, seen: now, ...proof } }
}

/** Others take keys from here, so a wrong one must not get in. */
async function isKey(shown: unknown, fingerprint: string): Promise<boolean> {
  try {
    return (await importPublicKey(shown as string | JsonWebKey)).fingerprint === fingerprint
  } catch {
    return false
  }
}

function infoOf({ id, card, endpoint, seen }: MeshEntry, isHealthy: boolean) {
  return {
    agent_id: id,
    name: card.name,
    capabilities: card.capabilities,
    status: isHealthy ? 'healthy' : 'unhealthy',
    endpoint,
    last_heartbeat: new Date(seen).toISOString(),
  } as const satisfies AgentInfo
}

function asJson(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value))
}

/** An agent that refuses our question is alive as well. */
async function answers(peer: MeshPeer, { id, endpoint }: MeshEntry, fetch: Fetch): Promise<boolean> {
  try {
    await peer.link({ agentId: id, endpoint, fetch, timeout: 5_000 }).request('registry.ping')
    return true
  } catch (error) {
    if (error instanceof MeshRefusal) return true
    return error instanceof MeshError && error.code === 'NOT_FOUND' && error.details?.what === 'method'
  }
}
