import type { Client } from '../client/client.ts'
import { connect } from '../client/connect.ts'
import type { ConnectOptions } from '../client/options.ts'
import type { VerifyCard } from '../client/verify-card.ts'
import type { MeshLink } from '../mesh/link.ts'
import type { MeshPeer } from '../mesh/peer.ts'
import type { EntryStore, RegistryEntry } from './entry.ts'
import { type AgentListing, listingOf } from './listing.ts'
import type { RegistryFetch } from './options.ts'
import { entryQueryOf, type SearchQuery } from './search.ts'

export interface FindOptions {
  readonly entries: EntryStore
  readonly fetch: RegistryFetch
  readonly peer: MeshPeer | undefined
  /** Whose signatures are trusted, for cards that were signed when they were listed. */
  readonly verifyCard?: VerifyCard
  readonly healthySince: () => number
}

/** An agent that was reached just now. */
export type FoundAgent =
  | { readonly kind: 'a2a'; readonly agent: AgentListing; readonly client: Client }
  | { readonly kind: 'mesh'; readonly agent: AgentListing; readonly link: MeshLink }

export type FindQuery = Omit<SearchQuery, 'cursor'>

/** The best first. Each is connected to when it is its turn; who cannot be reached is passed over, and noted. */
export interface FoundAgents extends AsyncIterable<FoundAgent> {
  /** The best that can be reached. */
  first(): Promise<FoundAgent | undefined>
}

export function createFind({ entries, fetch, peer, verifyCard, healthySince }: FindOptions) {
  async function reach(entry: RegistryEntry, options: ConnectOptions): Promise<FoundAgent | undefined> {
    const agent = listingOf(entry, true)
    if (entry.kind === 'a2a') {
      const isTrusted = verifyCard !== undefined && entry.sightings.signature?.ok
      const asking = { fetch, ...(isTrusted && { verifyCard }), ...options }
      const client = await connect(entry.cardUrl ?? entry.card, asking)
      return { kind: 'a2a', agent, client }
    }
    if (!peer) return undefined
    const link = peer.link({ agentId: entry.id, endpoint: entry.endpoint, fetch, timeout: 10_000 })
    await link.handshake()
    return { kind: 'mesh', agent, link }
  }

  async function* walk(query: FindQuery, options: ConnectOptions): AsyncGenerator<FoundAgent> {
    const asked = entryQueryOf({ status: 'healthy', ...query }, healthySince())
    const { entries: candidates } = await entries.find({ ...asked, order: 'best', uncounted: true })
    for (const entry of candidates) {
      const reached = await reach(entry, options).catch(() => 'failed' as const)
      if (reached === 'failed') await entries.touch(entry.id, entry.seen, 'unreachable')
      else if (reached) yield reached
    }
  }

  return (query: FindQuery, options: ConnectOptions = {}): FoundAgents => ({
    [Symbol.asyncIterator]: () => walk(query, options),
    async first() {
      for await (const found of walk(query, options)) return found
      return undefined
    },
  })
}
