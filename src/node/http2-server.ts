import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import type { Exchange } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { answerGrpc, isGrpc } from './grpc.ts'
import { answerHttp2 } from './http2-answer.ts'
import { Http2Incoming } from './http2-incoming.ts'
import { createHttp2Peers, type Http2Peers } from './http2-peers.ts'
import { createSlowRequests } from './slow-requests.ts'

export interface Http2Options {
  readonly exchange: Exchange
  readonly grpc: GrpcExchange
  /** Milliseconds in which a request must have come in whole. */
  readonly requestTimeout: number
  /** Milliseconds for which an idle connection stays open. */
  readonly keepAliveTimeout: number
  readonly onError: (error: unknown) => void
  /** Milliseconds for which a caller may take nothing of what was written to it. */
  readonly unreadTimeout: number
  /** Counts what is at work. */
  readonly load?: Load | undefined
}

export interface Http2 extends Pick<Http2Peers, 'close' | 'destroy'> {
  /** Speaks HTTP/2 on a connection that somebody else has accepted. */
  accept(socket: Socket): void
}

const sessionOptions: ServerOptions = {
  // So many calls of one connection may run at once; more wait at the caller.
  settings: { maxConcurrentStreams: 1_000 },
}

/** HTTP/2 without a port of its own: gRPC, and everything that HTTP/1.1 has. */
export function createHttp2(options: Http2Options): Http2 {
  const { exchange, grpc, requestTimeout, keepAliveTimeout, unreadTimeout, onError, load } = options
  const peers = createHttp2Peers(keepAliveTimeout)
  const slow = createSlowRequests(requestTimeout)

  async function answer(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: readonly string[],
  ): Promise<void> {
    // A stream that breaks off closes, and that is all there is to know.
    stream.on('error', () => {})
    slow.watch(stream)
    const incoming = new Http2Incoming(stream, headers, rawHeaders, load)
    load?.begin()
    try {
      if (isGrpc(headers['content-type'])) await answerGrpc(stream, incoming, { exchange: grpc, unreadTimeout })
      else await answerHttp2(stream, incoming, { exchange, onError, unreadTimeout })
    } catch (error) {
      if (!stream.closed) onError(error)
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    } finally {
      load?.end(incoming.taken)
      slow.forget(stream)
    }
  }

  return {
    accept(socket) {
      const session = performServerHandshake(socket, sessionOptions)
      // What a peer does to its connection ends it, and concerns nobody else.
      session.on('error', () => {})
      session.on('stream', answer)
      peers.add(session, socket)
    },
    close() {
      slow.stop()
      peers.close()
    },
    destroy: peers.destroy,
  }
}
