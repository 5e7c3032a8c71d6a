import { defined } from '../core/base/json.ts'
import { consoleLogger } from '../core/base/logger.ts'
import {
  anObject,
  checkOptions,
  group,
  having,
  httpUrl,
  integer,
  milliseconds,
  type OptionChecks,
  path as pathCheck,
  text,
} from '../core/base/options.ts'
import { isLoopback } from '../core/http/origin.ts'
import { type ListenOptions, listen } from '../core/node/listen.ts'
import { type SocketServer, socketsAt } from '../core/node/websocket-upgrade.ts'
import { loggedError } from '../core/protocol/errors.ts'
import type { MeshCard } from '../mesh/envelope.ts'
import { firstHandshakeKeys } from '../mesh/key-sources.ts'
import { generateSigningKey, type MeshSigningKey } from '../mesh/keys.ts'
import { type MeshPeerOptions, meshPeerChecks } from '../mesh/options.ts'
import type { MeshPeer } from '../mesh/peer.ts'
import type { MeshSocket, SocketOptions } from '../mesh/websocket.ts'
import { createMeshPeer } from './mesh-peer.ts'

/** Options of `servePeer`. */
export interface ServePeerOptions
  extends Omit<MeshPeerOptions, 'card'>,
    Partial<Pick<ListenOptions, 'port' | 'host' | 'tls'>> {
  /**
   * Only `agent_id` is required. The capabilities default to the names of the methods. `metadata.endpoint` is the
   * address of the server.
   */
  readonly card: Pick<MeshCard, 'agent_id'> & Partial<MeshCard>
  /** The path for envelopes and WebSockets. Defaults to `/mesh`. */
  readonly path?: string
  /** The URL that other agents use, if a proxy stands in front of the server. */
  readonly publicUrl?: string
  /** Accepts WebSockets as well: `new WebSocketServer({ noServer: true })` from the package `ws`. */
  readonly sockets?: SocketServer<MeshSocket>
  readonly socketOptions?: SocketOptions
}

const peerChecks: OptionChecks<ServePeerOptions> = {
  ...meshPeerChecks,
  card: having("a card with at least an agent_id, such as { agent_id: 'price-agent' }", 'agent_id'),
  directory: having('a directory with discover', 'discover'),
  port: integer({ min: 0, max: 65_535 }),
  host: text,
  tls: anObject,
  path: pathCheck,
  publicUrl: httpUrl,
  sockets: anObject,
  socketOptions: group<SocketOptions>({
    maxInFlight: integer({ min: 1 }),
    maxBuffered: integer({ min: 1 }),
    pingInterval: milliseconds({ min: 1 }),
  }),
}

/** A running mesh peer, as `servePeer` returns it. */
export interface PeerServer {
  /** Where other agents send envelopes to. */
  readonly endpoint: string
  readonly port: number
  readonly peer: MeshPeer
  /** The key of the peer, with its public part as `jwk` and `fingerprint`. Absent if the peer does not sign. */
  readonly key: MeshSigningKey | undefined
  close(): Promise<void>
}

/**
 * Serves one mesh peer on a port. On a loopback address a new key is generated and every agent is trusted by the key
 * of its first handshake, unless `key`, `keys` or `firstHandshake` say otherwise; elsewhere they are required.
 *
 * @example await servePeer({ card: { agent_id: 'price-agent' }, methods: { get_price: () => ({ price: 4.25 }) } })
 */
export async function servePeer(options: ServePeerOptions): Promise<PeerServer> {
  checkOptions('servePeer', options, peerChecks, ['card'])
  const { port = 0, host = '127.0.0.1', tls, path = '/mesh', publicUrl, sockets, socketOptions, ...rest } = options
  const { logger = consoleLogger, requireAuth = true } = options
  const trusts = isLoopback(host) && requireAuth
  const key = options.key ?? (trusts ? await generateSigningKey() : undefined)
  const firstHandshake = options.firstHandshake ?? (trusts && !options.keys ? firstHandshakeKeys() : undefined)
  const create = (endpoint: string) =>
    createMeshPeer({
      ...rest,
      requireAuth,
      logger,
      ...defined({ key, firstHandshake }),
      card: completeCard(options, endpoint),
    })
  // Wrong options are reported before the port opens.
  let peer = create(`http://127.0.0.1${path}`)
  const listening = await listen(
    async (incoming) => (incoming.path === path ? await peer.exchange(incoming) : { status: 404, headers: {} }),
    {
      port,
      host,
      ...defined({ tls }),
      onError: (error) => logger.error({ error: loggedError(error) }, 'A mesh request failed'),
      ...defined({ upgrade: sockets && socketsAt(path, sockets, (socket) => peer.accept(socket, socketOptions)) }),
    },
  )
  const endpoint = `${(publicUrl ?? listening.url).replace(/\/+$/, '')}${path}`
  // The card names the address, which is known only now.
  peer = create(endpoint)
  logger.info({ endpoint, agent: peer.agentId, key: key?.fingerprint }, 'the mesh peer is ready')
  return { endpoint, port: listening.port, peer, key, close: () => listening.close({ deadline: closeTimeout }) }
}

/** How long running calls may take after the server has closed, in milliseconds. */
const closeTimeout = 2_000

function completeCard({ card, methods = {} }: ServePeerOptions, endpoint: string): MeshCard {
  const names = Object.keys(methods).slice(0, 50)
  return {
    name: card.agent_id.slice(0, 100),
    version: '1.0.0',
    description: `The agent ${card.agent_id}.`,
    capabilities: names.length > 0 ? names : ['messages'],
    supported_protocols: ['A2A/1.0'],
    ...card,
    metadata: { endpoint, ...card.metadata },
  }
}
