import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ambiguityIn } from './refuse-request.ts'

/** A server of WebSockets that has no port of its own, as `new WebSocketServer({ noServer: true })` of the package `ws`. */
export interface SocketServer<Socket> {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, taken: (socket: Socket) => void): void
}

/** Which connections become something else than HTTP, and who takes them. */
export interface Upgrade {
  wants(request: IncomingMessage): boolean
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/**
 * WebSockets at one path. Pages of browsers open them to any address without asking, and say so by `Origin`: they are
 * answered as if there were none.
 */
export function socketsAt<Socket>(
  path: string,
  sockets: SocketServer<Socket>,
  taken: (socket: Socket) => void,
): Upgrade {
  const wants = (request: IncomingMessage) =>
    request.headers.upgrade?.toLowerCase() === 'websocket' &&
    request.headers.origin === undefined &&
    request.url?.split('?', 1)[0] === path &&
    ambiguityIn(request) === undefined
  return {
    wants,
    take(request, socket, head) {
      if (wants(request)) return sockets.handleUpgrade(request, socket, head, taken)
      // Only where Node does not ask before, as it does since 24.9.
      socket.on('error', () => {}).end('HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    },
  }
}
