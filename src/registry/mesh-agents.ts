import { defined, type JsonObject } from '../core/base/json.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { MeshCard, MeshDiscoverAgents } from '../mesh/envelope.ts'
import { MeshError, MeshRefusal } from '../mesh/errors.ts'
import { importPublicKey } from '../mesh/keys.ts'
import type { MeshCall, MeshMethod } from '../mesh/options.ts'
import { createObservedPeer, type MeshPeer } from '../mesh/peer.ts'
import type { MeshEntry, RegistryEntry, RegistryStore } from './entry.ts'
import type { RegistryOptions } from './options.ts'
import { rankOf, type SearchQuery, type SearchResult, searchConditions, termsOf } from './search.ts'

export interface AgentInfo {
  readonly agent_id: string
  readonly name: string
  readonly capabilities: readonly string[]
  readonly status: 'healthy' | 'unhealthy'
  readonly endpoint: string
  readonly last_heartbeat: string
}

export interface DiscoverResult {
  readonly agents: readonly AgentInfo[]
  readonly total_count: number
  readonly query_time_ms: number
}

export interface MeshAgentsOptions extends RegistryOptions {
  readonly entries: RegistryStore
  readonly now: () => number
  readonly unhealthyAfter: number
  readonly isHealthy: (entry: RegistryEntry) => boolean
  readonly search: (query: SearchQuery) => Promise<SearchResult>
  readonly discover: (query?: MeshDiscoverAgents['payload']) => Promise<DiscoverResult>
  /** When to probe a peer that was seen now; undefined if peers are not probed. */
  readonly nextProbe: () => number | undefined
}

/** The registry as a mesh peer, with the `agent_id` `registry`. */
export interface MeshAgents {
  readonly peer: MeshPeer
  /** Pings a peer and stores the result. */
  probe(entry: MeshEntry): Promise<boolean>
}

export function createMeshAgents(options: MeshAgentsOptions): MeshAgents {
  const { fetch, entries, now } = options
  const peer = createObservedPeer({
    ...options,
    card: {
      name: 'Registry',
      version: '1.0.0',
      description: 'Lists agents with their capabilities and their health.',
      capabilities: ['registry'],
      supported_protocols: ['A2A/1.0'],
      ...options.card,
      agent_id: 'registry',
    },
    methods: registryMethods(options),
    directory: { discover: options.discover },
    refuseHandshake: (card, call) => register(options, card, call),
    async onMessage(call) {
      if (!(await callerEntry(entries, call))) return
      if (call.envelope.message_type === 'goodbye') await entries.remove(call.from)
      else await entries.touch(call.from, now())
    },
  })
  return {
    peer,
    async probe(entry) {
      const isAlive = await ping(peer, entry, fetch)
      const trouble = entry.trouble === 'said' ? entry.trouble : isAlive ? null : 'unreachable'
      await entries.touch(entry.id, isAlive ? now() : entry.seen, trouble)
      return isAlive
    },
  }
}

export interface DiscoverOptions extends Pick<MeshAgentsOptions, 'entries' | 'isHealthy'> {
  readonly healthySince: () => number
}

/** Implements mesh discovery: finds peers that have all the capabilities, by name and id, and counts them. */
export function createDiscover({ entries, isHealthy, healthySince }: DiscoverOptions): MeshAgentsOptions['discover'] {
  return async ({ capabilities, filters = {} } = {}) => {
    const start = performance.now()
    const { status = 'all', max_results: limit = 100 } = filters
    const { terms } = searchConditions(capabilities ? { capability: capabilities } : {})
    const health = status === 'all' ? undefined : { isHealthy: status === 'healthy', since: healthySince() }
    const page = await entries.find(defined({ kind: 'mesh', terms, limit, health }))
    const peers = page.entries.filter((entry) => entry.kind === 'mesh')
    const agents = peers.map((entry) => infoOf(entry, isHealthy(entry)))
    return { agents, total_count: page.total, query_time_ms: performance.now() - start }
  }
}

function registryMethods(options: MeshAgentsOptions): Readonly<Record<string, MeshMethod>> {
  const { entries, now, unhealthyAfter, isHealthy, search } = options

  const heartbeat: MeshMethod = async ({ status = 'healthy' }, call) => {
    if (status !== 'healthy' && status !== 'unhealthy') {
      throw new MeshRefusal('INVALID_STATUS', 'status must be healthy or unhealthy.')
    }
    if (!(await callerEntry(entries, call))) {
      throw new MeshRefusal('NOT_REGISTERED', 'Register first: send a handshake with metadata.endpoint in your card.')
    }
    await entries.touch(call.from, now(), status === 'unhealthy' ? 'said' : null)
    return { status, unhealthy_after: unhealthyAfter / 1000 }
  }

  const lookup: MeshMethod = async ({ agent_id: id }) => {
    const entry = typeof id === 'string' ? await entries.get(id) : undefined
    if (entry?.kind !== 'mesh') throw new MeshRefusal('UNKNOWN_AGENT', 'No agent is registered under this agent_id.')
    return { agent: infoOf(entry, isHealthy(entry)), agent_card: asJson(entry.card) }
  }

  const searchAgents: MeshMethod = async ({ max_results: limit, cursor, ...conditions }) => {
    try {
      const query = { ...conditions, ...defined({ limit, cursor }) }
      const { agents, totalCount, nextCursor, queryTimeMs } = await search(query as SearchQuery)
      return asJson({ agents, total_count: totalCount, next_cursor: nextCursor, query_time_ms: queryTimeMs })
    } catch (error) {
      throw error instanceof A2AError ? new MeshRefusal('INVALID_QUERY', error.message) : error
    }
  }

  return { 'registry.heartbeat': heartbeat, 'registry.lookup': lookup, 'registry.search': searchAgents }
}

/** Stores the peer that sent the handshake. Returns why the handshake is refused, or undefined if it is accepted. */
async function register(options: MeshAgentsOptions, card: MeshCard, call: MeshCall): Promise<string | undefined> {
  const { fetch, entries, now, nextProbe } = options
  if (card.agent_id === 'registry') return 'The agent_id registry is reserved for the registry itself.'
  const existing = await entries.get(card.agent_id)
  if (existing?.kind === 'mesh' && !isProven(existing, call)) {
    return 'This agent_id belongs to an agent that signs its messages.'
  }
  const registration = await registrationOf(card, call, (url) => fetch.check(url), now())
  if ('refusal' in registration) return registration.refusal
  const { entry } = registration
  if (!entry) return undefined
  const due = nextProbe()
  const index = defined({ terms: termsOf(entry), rank: rankOf(entry), due })
  switch (await entries.put(entry, index)) {
    case 'full':
    case 'crowded':
      return 'The registry is full.'
    case 'taken':
      return 'This agent_id belongs to another owner.'
    case 'added':
    case 'replaced':
      return undefined
  }
}

/** Rejects if calls to the URL are forbidden, as `createGuardedFetch().check` does. */
type CheckEndpoint = (url: string) => Promise<void>

type Registration = { readonly entry?: MeshEntry } | { readonly refusal: string }

async function callerEntry(entries: RegistryStore, call: MeshCall): Promise<MeshEntry | undefined> {
  const entry = await entries.get(call.from)
  return entry?.kind === 'mesh' && isProven(entry, call) ? entry : undefined
}

/** Only signed messages count for a peer that registered with a signature. */
function isProven({ fingerprint }: MeshEntry, { identity }: MeshCall): boolean {
  return fingerprint === undefined || identity !== undefined
}

/** A handshake without an endpoint creates no entry: its sender only searches. */
async function registrationOf(
  card: MeshCard,
  { identity }: MeshCall,
  check: CheckEndpoint,
  now: number,
): Promise<Registration> {
  const { endpoint, public_key: publicKey } = card.metadata ?? {}
  if (endpoint === undefined) return {}
  if (typeof endpoint !== 'string' || !/^https?:\/\//i.test(endpoint) || !URL.canParse(endpoint)) {
    return { refusal: 'metadata.endpoint must be an absolute http or https URL.' }
  }
  try {
    await check(endpoint)
  } catch {
    return { refusal: 'metadata.endpoint is an address that this registry does not call.' }
  }
  if (publicKey !== undefined && identity && !(await hasFingerprint(publicKey, identity.fingerprint))) {
    return { refusal: 'metadata.public_key is not the key that signed the handshake.' }
  }
  const proof = identity && { fingerprint: identity.fingerprint }
  return { entry: { kind: 'mesh', id: card.agent_id, name: card.name, card, endpoint, seen: now, ...proof } }
}

/** Other peers take public keys from the registry, so it must not store a wrong one. */
async function hasFingerprint(publicKey: unknown, fingerprint: string): Promise<boolean> {
  try {
    return (await importPublicKey(publicKey as string | JsonWebKey)).fingerprint === fingerprint
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

/** A peer that refuses the request, or does not know the method, is alive. */
async function ping(peer: MeshPeer, { id, endpoint }: MeshEntry, fetch: Fetch): Promise<boolean> {
  try {
    await peer.link({ agentId: id, endpoint, fetch, timeout: 5_000 }).request('registry.ping')
    return true
  } catch (error) {
    if (error instanceof MeshRefusal) return true
    return error instanceof MeshError && error.code === 'NOT_FOUND' && error.details?.what === 'method'
  }
}
