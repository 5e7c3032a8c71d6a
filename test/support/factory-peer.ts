import type { AgentCard } from 'a2a-sdk-0-3-last'
import type { Client, ClientFactory } from 'a2a-sdk-0-3-last/client'
import { kindPeer } from './kind-peer.ts'
import type { Peer } from './peer.ts'

type Public<T> = Pick<T, keyof T>

/** What makes clients of 0.3.6 and later. */
export interface Factory {
  createFromUrl(origin: string, cardPath?: string): Promise<Public<Client>>
  createFromAgentCard: (card: AgentCard) => Promise<Public<Client>>
}
