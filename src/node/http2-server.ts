import { constants, createServer, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { Exchange } from '../http/exchange.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { answerGrpc, isGrpc } from './grpc.ts'
import { answerHttp2 } from './http2-answer.ts'
import { Http2Incoming } from './http2-incoming.ts'
import { createHttp2Peers, type Http2Peers } from './http2-peers.ts'

export interface Http2Options {
  readonly exchange: Exchange
  readonly grpc: GrpcExchange
  /** Milliseconds in which a request must have come in whole. */
  readonly requestTimeout: number
  /** Milliseconds for which an idle connection stays open. */
  readonly keepAliveTimeout: number
  readonly onError: (error: unknown) => void
}

export interface Http2 extends Pick<Http2Peers, 'close' | 'destroy'> {
  /** Speaks HTTP/2 on a connection. */
  accept(socket: Socket): void
}

/** How many calls of one connection may run at once; more wait at the caller. */
const maxConcurrentStreams = 1_000

/** Speaks HTTP/2 on connections that somebody else accepts: gRPC, and everything that HTTP/1.1 has. */
export function createHttp2({ exchange, grpc, requestTimeout, keepAliveTimeout, onError }: Http2Options): Http2 {
  const peers = createHttp2Peers(keepAliveTimeout)
  const server = createServer({ settings: { maxConcurrentStreams } })
  server.on('session', peers.add)
  server.on('stream', async (stream, headers) => {
    // A stream that breaks off says so by closing; there is nothing to add.
    stream.on('error', () => {})
    cutWhenSlow(stream, requestTimeout)
    const incoming = new Http2Incoming(stream, headers)
    try {
      if (isGrpc(headers['content-type'])) await answerGrpc(stream, incoming, grpc)
      else await answerHttp2(stream, incoming, { exchange, onError })
    } catch (error) {
      if (!stream.destroyed) onError(error)
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    }
  })
  return {
    accept: (socket) => server.emit('connection', socket),
    close: peers.close,
    destroy: peers.destroy,
  }
}

function cutWhenSlow(stream: ServerHttp2Stream, requestTimeout: number): void {
  if (stream.endAfterHeaders) return
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), requestTimeout)
  const stop = (): void => clearTimeout(timer)
  stream.once('end', stop)
  stream.once('close', stop)
}
