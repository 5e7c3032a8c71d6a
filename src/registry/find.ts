import { defined } from '../core/base/json.ts'
import type { Client } from '../core/client/client.ts'
import { connect } from '../core/client/connect.ts'
import type { ConnectOptions, VerifyCard } from '../core/client/options.ts'
import type { MeshLink } from '../mesh/link.ts'
import type { MeshPeer } from '../mesh/peer.ts'
import { type AgentListing, listingOf, type RegistryEntry, type RegistryStore } from './entry.ts'
import type { RegistryFetch } from './options.ts'
import { type SearchQuery, toEntryQuery } from './search.ts'

export interface FindOptions {
  readonly entries: RegistryStore
  readonly fetch: RegistryFetch
  readonly peer: MeshPeer | undefined
  /** Verifies the card again if its signature was valid when the agent was listed. */
  readonly verifyCard?: VerifyCard
  readonly healthySince: () => number
}

/** A connected agent. */
export type FoundAgent =
  | { readonly kind: 'a2a'; readonly agent: AgentListing; readonly client: Client }
  | { readonly kind: 'mesh'; readonly agent: AgentListing; readonly link: MeshLink }

/** What `registry.find` searches for. */
export type FindQuery = Omit<SearchQuery, 'cursor'>

/** Connects to one agent per iteration, the best first. Unreachable agents are skipped and marked as unhealthy. */
export interface FoundAgents extends AsyncIterable<FoundAgent> {
  /** The best agent that can be reached. */
  first(): Promise<FoundAgent | undefined>
}

export function createFind({ entries, fetch, peer, verifyCard, healthySince }: FindOptions) {
  async function connectTo(entry: RegistryEntry, options: ConnectOptions): Promise<FoundAgent | undefined> {
    const agent = listingOf(entry, true)
    if (entry.kind === 'a2a') {
      const wasVerified = verifyCard !== undefined && entry.sightings.signature?.ok
      const connectOptions = { fetch, ...defined({ verifyCard: wasVerified ? verifyCard : undefined }), ...options }
      const client = await connect(entry.cardUrl ?? entry.card, connectOptions)
      return { kind: 'a2a', agent, client }
    }
    if (!peer) return undefined
    const link = peer.link({ agentId: entry.id, endpoint: entry.endpoint, fetch, timeout: 10_000 })
    await link.handshake()
    return { kind: 'mesh', agent, link }
  }

  async function* connectAll(query: FindQuery, options: ConnectOptions): AsyncGenerator<FoundAgent> {
    const entryQuery = toEntryQuery({ status: 'healthy', ...query }, healthySince())
    const { entries: candidates } = await entries.find({ ...entryQuery, order: 'best', uncounted: true })
    for (const entry of candidates) {
      const agent = await connectTo(entry, options).catch(() => 'failed' as const)
      if (agent === 'failed') await entries.touch(entry.id, entry.seen, 'unreachable')
      else if (agent) yield agent
    }
  }

  return (query: FindQuery, options: ConnectOptions = {}): FoundAgents => ({
    [Symbol.asyncIterator]: () => connectAll(query, options),
    async first() {
      for await (const agent of connectAll(query, options)) return agent
      return undefined
    },
  })
}
