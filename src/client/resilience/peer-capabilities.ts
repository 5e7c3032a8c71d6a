import type { Endpoint } from '../../dialects/endpoints.ts'
import type { AgentCard } from '../../protocol/card.ts'

export interface PeerOptions {
  readonly card: AgentCard
  readonly door: () => Endpoint | undefined
  /** What the caller knows; otherwise agents that number their events, as Parley does, are believed to do it. */
  readonly deduplicates?: boolean
}

/** What is known of the agent beyond its card, and learned while it is talked to. */
export interface PeerCapabilities {
  /** Two sends of the same message under the same key are one to it. */
  deduplicates(): boolean
  /** It answers with streams, as far as is known. */
  streams(): boolean
  /** Its streams cannot go on after an event, although it may number them. */
  startsOver(): boolean
  update(facts: { readonly numbersEvents?: boolean; readonly streams?: boolean }): void
}

export function createPeerCapabilities({ card, door, deduplicates }: PeerOptions): PeerCapabilities {
  let numbersEvents = false
  let streams = card.capabilities.streaming !== false
  const startsOver = () => door()?.dialect.cannotResume === true
  return {
    // Where a stream starts over, messages have no ids by which they could be told from others.
    deduplicates: () => deduplicates ?? (numbersEvents && !startsOver()),
    streams: () => streams,
    startsOver,
    update(facts) {
      numbersEvents = facts.numbersEvents ?? numbersEvents
      streams = facts.streams ?? streams
    },
  }
}
