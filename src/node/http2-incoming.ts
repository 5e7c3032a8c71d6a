import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { BodyTooLarge, type PeerCertificate } from '../http/exchange.ts'
import { type Load, Overloaded } from '../http/load.ts'
import type { GrpcIncoming } from '../transports/grpc/rpc.ts'
import type { Room } from './body.ts'
import { allOf } from './incoming.ts'
import { inNextTurn } from './next-turn.ts'
import { certificateOf } from './peer-certificate.ts'

/** A view of a request of HTTP/2, plain or gRPC. A class for the same reason as the one of HTTP/1.1. */
export class Http2Incoming implements GrpcIncoming, Room {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly base = ''
  readonly secure: boolean
  readonly header: GrpcIncoming['header']
  readonly bytes: GrpcIncoming['bytes']
  readonly chunks: GrpcIncoming['chunks']
  readonly #stream: ServerHttp2Stream
  readonly #load: Load | undefined
  /** Bytes of the body that are counted in the load. */
  taken = 0
  #signal: AbortSignal | undefined

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[], load?: Load) {
    const target = headers[':path'] ?? '/'
    const mark = target.indexOf('?')
    this.method = headers[':method'] ?? 'GET'
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
    this.secure = stream.session?.encrypted === true
    this.header = (name) => {
      if (name === 'authorization') return allOf(rawHeaders, name)
      // RFC 9113 §8.3.1: the authority takes the place of the host.
      const value = headers[name] ?? (name === 'host' ? headers[':authority'] : undefined)
      return Array.isArray(value) ? value.join(', ') : value
    }
    this.bytes = (limit) => collect(stream, { announced: Number(headers['content-length']), limit, room: this })
    this.chunks = () => stream.iterator({ destroyOnReturn: false })
    this.#stream = stream
    this.#load = load
  }

  take(bytes: number): boolean {
    this.taken += bytes
    return this.#load?.take(bytes) ?? true
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#stream)
    return this.#signal
  }

  certificate(): PeerCertificate | undefined {
    return certificateOf(this.#stream.session?.socket)
  }
}

interface Collecting {
  /** What the caller says of the length, if anything. */
  readonly announced: number
  readonly limit: number
  readonly room: Room
}

function collect(stream: ServerHttp2Stream, { announced, limit, room }: Collecting): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (announced > limit) return reject(new BodyTooLarge(limit))
    const leave = (): void => reject(new Error('the caller left before its body had come'))
    if (stream.aborted) return leave()
    const chunks: Uint8Array[] = []
    let length = 0
    const take = (chunk: Uint8Array): void => {
      length += chunk.length
      chunks.push(chunk)
      const hasRoom = room.take(chunk.length)
      if (length <= limit && hasRoom) return
      chunks.length = 0
      stream.off('data', take).pause()
      reject(length > limit ? new BodyTooLarge(limit) : new Overloaded())
    }
    stream.on('data', take)
    stream.once('end', () => {
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)
      inNextTurn(() => resolve(bytes))
    })
    // It ends then, too, as if it were whole.
    stream.once('aborted', leave)
  })
}

/** A stream is aborted when it ends before our side of it has. */
function signalOf(stream: ServerHttp2Stream): AbortSignal {
  const controller = new AbortController()
  if (stream.aborted) controller.abort()
  else stream.once('aborted', () => controller.abort())
  return controller.signal
}
