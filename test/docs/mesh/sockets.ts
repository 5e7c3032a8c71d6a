import type { Server } from 'node:http'
import { WebSocketServer } from 'ws'
import type { MeshLink, MeshPeer } from '../../../src/entries/mesh.ts'

/** Accepts WebSockets on the port that also takes envelopes by POST. */
export function acceptSockets(server: Server, price: MeshPeer): void {
  const sockets = new WebSocketServer({ server, maxPayload: 10 * 2 ** 20 })
  sockets.on('connection', (socket) => price.accept(socket))
}

export function connectTo(shop: MeshPeer, url: string): MeshLink {
  return shop.connect({ agentId: 'price-agent', url }) // wss://prices.example.com/mesh
}
