import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { BodyTooLarge, type PeerCertificate } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import type { GrpcIncoming } from '../transports/grpc/rpc.ts'
import { CountedRequest, certificateOf, joinedHeader, readSource } from './incoming.ts'

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
  readonly #stream: ServerHttp2Stream
  readonly #length: number
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
    this.#stream = stream
    this.#length = Number(headers['content-length'] ?? 0)
  }

  bytes(limit: number): Promise<Uint8Array> {
    if (this.#length > limit) return Promise.reject(new BodyTooLarge(limit))
    return readSource(this.#stream, limit, this, 'aborted')
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
