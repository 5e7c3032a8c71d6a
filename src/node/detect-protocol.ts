import type { Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { createHttp2, type Http2, type Http2Options } from './http2.ts'

const preface = Buffer.from('PRI * HTTP/2.0\r\n')

export interface OnePortOptions extends Http2Options {
  /** Milliseconds in which a connection must show what it speaks. */
  readonly headersTimeout: number
}

/**
 * Lets a server of HTTP/1.1 share its port with HTTP/2: connections that open with its preface are handed on (RFC 9113
 * §3.3). The server stays the only one at its port, so that closing it waits for all of them.
 */
export function shareListener(
  server: Server | TlsServer,
  { headersTimeout, ...options }: OnePortOptions,
): Pick<Http2, 'close' | 'destroy'> {
  const http2 = createHttp2(options)
  const undecided = new Set<Socket>()
  const accepted = 'setSecureContext' in server ? 'secureConnection' : 'connection'
  const [acceptHttp1] = server.listeners(accepted)
  server.removeAllListeners(accepted)

  server.on(accepted, (socket: Socket) => {
    // Over TLS both sides have agreed on it already (RFC 9113 §3.2).
    if (socket instanceof TLSSocket) {
      if (socket.alpnProtocol === 'h2') http2.accept(socket)
      else acceptHttp1?.call(server, socket)
      return
    }
    let seen = Buffer.alloc(0)
    const look = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk])
      const isHttp2 = opensHttp2(seen)
      if (isHttp2 === undefined) return
      forget()
      socket.pause().unshift(seen)
      if (isHttp2) http2.accept(socket)
      else acceptHttp1?.call(server, socket.resume())
    }
    const leave = (): void => void socket.destroy()
    const timer = setTimeout(leave, headersTimeout)
    const forget = (): void => {
      clearTimeout(timer)
      undecided.delete(socket)
      socket.off('data', look).off('end', leave).off('error', leave).off('close', forget)
    }
    undecided.add(socket)
    socket.on('data', look).on('end', leave).on('error', leave).on('close', forget)
  })

  return {
    close() {
      for (const socket of undecided) socket.destroy()
      http2.close()
    },
    destroy: http2.destroy,
  }
}

/** Undefined while it may still become either: a `P` also begins a POST. */
function opensHttp2(seen: Buffer): boolean | undefined {
  const length = Math.min(seen.length, preface.length)
  if (seen.compare(preface, 0, length, 0, length) !== 0) return false
  return length === preface.length ? true : undefined
}
