import { once } from 'node:events'
import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'
import { type WebSocket, WebSocketServer } from 'ws'
import { toListener } from '../../../src/core/node/listener.ts'
import {
  configuredKeys,
  createMeshPeer,
  generateSigningKey,
  type MeshCard,
  type MeshEnvelope,
  type MeshPeer,
  type MeshPeerOptions,
  type MeshSigningKey,
  signEnvelope,
} from '../../../src/entries/mesh.ts'
import type { SocketOptions } from '../../../src/mesh/websocket.ts'
import { silentLogger } from '../logger.ts'
import { listenOnFreePort } from '../servers/http-server.ts'

export function meshCard(agentId: string, more: Partial<MeshCard> = {}): MeshCard {
  return {
    agent_id: agentId,
    name: agentId,
    version: '1.0.0',
    description: `The agent ${agentId}.`,
    capabilities: ['prices'],
    supported_protocols: ['A2A/1.0'],
    ...more,
  }
}

export interface MeshPair {
  readonly shop: MeshPeer
  readonly price: MeshPeer
  readonly shopKey: MeshSigningKey
  readonly priceKey: MeshSigningKey
}

/** Generated once: RSA keys take long. */
const keys = { shop: generateSigningKey(), price: generateSigningKey() }

/** Two peers that know each other's keys. */
export async function meshPair(
  price: Partial<MeshPeerOptions> = {},
  shop: Partial<MeshPeerOptions> = {},
): Promise<MeshPair> {
  const [shopKey, priceKey] = await Promise.all([keys.shop, keys.price])
  return {
    shopKey,
    priceKey,
    shop: createMeshPeer({
      card: meshCard('shop-agent'),
      key: shopKey,
      keys: await configuredKeys({ 'price-agent': priceKey.jwk, registry: priceKey.jwk }),
      logger: silentLogger,
      ...shop,
    }),
    price: createMeshPeer({
      card: meshCard('price-agent'),
      key: priceKey,
      keys: await configuredKeys({ 'shop-agent': shopKey.jwk }),
      methods: { get_price: ({ symbol = 'TEA' }) => ({ symbol, price: 4.25 }) },
      logger: silentLogger,
      ...price,
    }),
  }
}

export interface MeshServer {
  readonly endpoint: string
  readonly socketUrl: string
  /** The open connections. */
  readonly sockets: ReadonlySet<WebSocket>
}

/** Serves a peer on loopback over HTTP and WebSocket. Closed after the test. */
export async function startMeshServer(peer: MeshPeer, options: SocketOptions = {}): Promise<MeshServer> {
  const server = createServer(toListener(peer.exchange))
  const sockets = new WebSocketServer({ server, maxPayload: 16 * 2 ** 20 })
  sockets.on('connection', (socket) => peer.accept(socket, options))
  onTestFinished(async () => {
    for (const socket of sockets.clients) socket.terminate()
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const port = await listenOnFreePort(server)
  return {
    endpoint: `http://127.0.0.1:${port}/mesh`,
    socketUrl: `ws://127.0.0.1:${port}/mesh`,
    sockets: sockets.clients,
  }
}

/** An unsigned request of the shop peer. */
export function meshRequest(more: Readonly<Record<string, unknown>> = {}): MeshEnvelope {
  return {
    message_id: crypto.randomUUID(),
    message_type: 'request',
    sender_id: 'shop-agent',
    recipient_id: 'price-agent',
    timestamp: new Date().toISOString(),
    payload: { method: 'get_price', parameters: { symbol: 'TEA' } },
    correlation_id: null,
    ...more,
  } as MeshEnvelope
}

export async function signedRequest(
  key: MeshSigningKey,
  more: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  return JSON.stringify(await signEnvelope(meshRequest(more), key))
}

export interface PostResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body, if it is JSON. */
  readonly body: Readonly<Record<string, never>> & { readonly payload?: { readonly error?: Record<string, unknown> } }
}

export async function post(endpoint: string, body: string | Uint8Array<ArrayBuffer>): Promise<PostResponse> {
  const response = await fetch(endpoint, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, body: text === '' ? {} : JSON.parse(text) }
}
