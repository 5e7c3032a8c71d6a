import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ambiguityIn } from './incoming.ts'

/** A WebSocket server without its own port, such as `new WebSocketServer({ noServer: true })` from the package `ws`. */
export interface SocketServer<Socket> {
  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, onAccepted: (socket: Socket) => void): void
}

/** Decides which connections leave HTTP, and takes them over. */
export interface Upgrade {
  accepts(request: IncomingMessage): boolean
  take(request: IncomingMessage, socket: Duplex, head: Buffer): void
}

/**
 * Accepts WebSockets at one path. Browser pages can open WebSockets to any address without a preflight, and send
 * `Origin` with them: the server answers these as if there were no WebSocket.
 */
export function socketsAt<Socket>(
  path: string,
  sockets: SocketServer<Socket>,
  onAccepted: (socket: Socket) => void,
): Upgrade {
  const accepts = (request: IncomingMessage) =>
    request.headers.upgrade?.toLowerCase() === 'websocket' &&
    request.headers.origin === undefined &&
    request.url?.split('?', 1)[0] === path &&
    ambiguityIn(request) === undefined
  return {
    accepts,
    take(request, socket, head) {
      if (accepts(request)) return sockets.handleUpgrade(request, socket, head, onAccepted)
      // Reached only on Node before 24.9, which does not call `shouldUpgradeCallback`.
      socket.on('error', () => {}).end('HTTP/1.1 501 Not Implemented\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    },
  }
}
