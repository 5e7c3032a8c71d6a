import { loaded } from '../protocol/lazy-import.ts'
import type { DialectInfo } from './dialect.ts'
import type { ReadCard } from './peer-card.ts'
import { v1_0Known } from './v1.0/client.ts'

/**
 * Every dialect that a client can speak, in the order in which they are tried where nothing else decides. Those before
 * 1.0 are loaded when a card or an agent needs them.
 */
export const allClients: readonly [DialectInfo, ...DialectInfo[]] = [
  v1_0Known,
  {
    name: 'v0.3-proto',
    version: '0.3',
    bindings: ['HTTP+JSON', 'GRPC'],
    sendMethod: undefined,
    load: async () => (await older()).v0_3ProtoLight,
  },
  {
    name: 'v0.3',
    version: '0.3',
    bindings: ['JSONRPC', 'HTTP+JSON'],
    sendMethod: 'message/send',
    load: async () => (await older()).v0_3Light,
  },
  {
    name: 'v0.2',
    version: '0.2',
    bindings: ['JSONRPC'],
    sendMethod: 'message/send',
    load: async () => (await older()).v0_2Light,
  },
  {
    name: 'v0.1',
    version: '0.1',
    bindings: ['JSONRPC'],
    sendMethod: 'tasks/send',
    startsOver: true,
    load: async () => (await older()).v0_1Light,
  },
]

export const readOlderCard: ReadCard = async (wire, dialects) => await (await older()).readOlderCard(wire, dialects)

function older(): Promise<typeof import('./legacy.ts')> {
  return loaded('speak to an agent of A2A before 1.0', import('./legacy.ts'))
}
