import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { BodyTooLarge, type PeerCertificate } from '../http/exchange.ts'
import { type Load, Overloaded } from '../http/load.ts'
import type { GrpcIncoming } from '../transports/grpc/rpc.ts'
import {
  arrivedBytes,
  type BodyBudget,
  CountedRequest,
  callerLeft,
  certificateOf,
  collectBody,
  joinedHeader,
} from './incoming.ts'

/** What the requests of a connection have in common. */
export interface RequestContext {
  /** Whether the connection is encrypted. */
  readonly secure: boolean
  readonly load?: Load | undefined
}

/** A view of an HTTP/2 request, plain or gRPC. A class for the same reason as `Http1Incoming`. */
export class Http2Incoming extends CountedRequest implements GrpcIncoming {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly base = ''
  readonly secure: boolean
  readonly header: GrpcIncoming['header']
  readonly bytes: GrpcIncoming['bytes']
  readonly #stream: ServerHttp2Stream
  #signal: AbortSignal | undefined

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    { secure, load }: RequestContext,
  ) {
    super(load)
    const target = headers[':path'] ?? '/'
    const mark = target.indexOf('?')
    this.method = headers[':method'] ?? 'GET'
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
    this.secure = secure
    this.header = headerReader(headers, rawHeaders)
    this.bytes = (limit) => {
      const isTooLarge = Number(headers['content-length']) > limit
      return isTooLarge ? Promise.reject(new BodyTooLarge(limit)) : readBody(stream, limit, this)
    }
    this.#stream = stream
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#stream)
    return this.#signal
  }

  chunks(): AsyncIterable<Uint8Array> {
    return this.#stream.iterator({ destroyOnReturn: false })
  }

  certificate(): PeerCertificate | undefined {
    return certificateOf(this.#stream.session?.socket)
  }

  address(): string | undefined {
    return this.#stream.session?.socket.remoteAddress
  }
}

/** Reads a short body without listeners, and any other one as it arrives. */
async function readBody(stream: ServerHttp2Stream, limit: number, budget: BodyBudget): Promise<Uint8Array> {
  const bytes = (await arrivedBytes(stream)) ?? new Uint8Array()
  if (stream.aborted) throw callerLeft()
  if (!stream.readableEnded) {
    if (bytes.length > 0) stream.unshift(bytes)
    return await collectBody(stream, limit, budget, 'aborted')
  }
  const hasRoom = budget.take(bytes.length)
  if (bytes.length > limit) throw new BodyTooLarge(limit)
  if (!hasRoom) throw new Overloaded()
  return bytes
}

/** Refers only to the headers: whatever keeps it does not keep the stream. */
function headerReader(headers: IncomingHttpHeaders, rawHeaders: readonly string[]): GrpcIncoming['header'] {
  return (name) => {
    if (name === 'authorization') return joinedHeader(rawHeaders, name)
    // RFC 9113 §8.3.1: `:authority` replaces `Host`.
    const value = (name === 'host' ? headers[':authority'] : undefined) ?? headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }
}

/** Node aborts a stream that the caller ends before the response is complete. */
function signalOf(stream: ServerHttp2Stream): AbortSignal {
  const controller = new AbortController()
  if (stream.aborted) controller.abort()
  else stream.once('aborted', () => controller.abort())
  return controller.signal
}
