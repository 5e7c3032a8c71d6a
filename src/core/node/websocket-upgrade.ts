import type { IncomingMessage, Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
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
    take: (request, socket, head) => sockets.handleUpgrade(request, socket, head, onAccepted),
  }
}

/**
 * Lets a server take over the connections that `upgrade` accepts. The server ignores other `Upgrade` headers, such as
 * `h2c`, and answers over HTTP/1.1 (RFC 9110 §7.8).
 */
export function takeUpgrades(server: Server | TlsServer, upgrade: Upgrade): void {
  const connected = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  server.on('upgrade', (request, socket, head) => {
    if (upgrade.accepts(request)) return upgrade.take(request, socket, head)
    // Node before 24.9 does not call `shouldUpgradeCallback`: the request is read again, without the header.
    socket.unshift(Buffer.concat([headOf(request), head]))
    server.emit(connected, socket)
  })
}

function headOf({ method, url, httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? ''
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[index + 1]}`)
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1')
}
