import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { createHttp2, type Http2, type Http2Options } from './http2.ts'

export interface SharedPortOptions extends Http2Options {
  /** Timeout in milliseconds for the first bytes, which show the protocol of a connection. */
  readonly headersTimeout: number
}

/**
 * Lets an HTTP/1.1 server share its port with HTTP/2: connections that open with the HTTP/2 preface are handed over
 * (RFC 9113 §3.3). The server stays the only one on its port, so closing it waits for all connections.
 */
export function shareListener(
  server: Server | TlsServer,
  { headersTimeout, ...options }: SharedPortOptions,
): Pick<Http2, 'drain' | 'close' | 'destroy'> {
  const http2 = createHttp2(options)
  const undecided = new Set<Socket>()
  const accepted = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  const [acceptHttp1] = server.listeners(accepted)
  server.removeAllListeners(accepted)

  server.on(accepted, (socket: Socket) => {
    // Over TLS, both sides have negotiated the protocol already (RFC 9113 §3.2).
    if (socket instanceof TLSSocket) {
      if (socket.alpnProtocol === 'h2') http2.accept(socket)
      else acceptHttp1?.call(server, socket)
      return
    }
    let received = Buffer.alloc(0)
    const inspect = (chunk: Buffer): void => {
      received = Buffer.concat([received, chunk])
      const isHttp2 = opensHttp2(received)
      if (isHttp2 === undefined) return
      forget()
      socket.pause().unshift(received)
      if (isHttp2) http2.accept(socket)
      else acceptHttp1?.call(server, socket.resume())
    }
    const destroy = (): void => void socket.destroy()
    const timer = setTimeout(destroy, headersTimeout)
    const forget = (): void => {
      clearTimeout(timer)
      undecided.delete(socket)
      socket.off('data', inspect).off('end', destroy).off('error', destroy).off('close', forget)
    }
    undecided.add(socket)
    socket.on('data', inspect).on('end', destroy).on('error', destroy).on('close', forget)
  })

  return {
    drain: http2.drain,
    close() {
      for (const socket of undecided) socket.destroy()
      http2.close()
    },
    destroy: http2.destroy,
  }
}

const preface = Buffer.from('PRI * HTTP/2.0\r\n')

/** Undefined while both protocols are possible: a `P` also begins a POST. */
function opensHttp2(received: Buffer): boolean | undefined {
  const length = Math.min(received.length, preface.length)
  if (received.compare(preface, 0, length, 0, length) !== 0) return false
  return length === preface.length ? true : undefined
}
