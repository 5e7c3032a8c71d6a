import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import { BodyTooLarge, type Exchange, type PeerCertificate, runExchange } from '../http/exchange.ts'
import { type Load, Overloaded } from '../http/load.ts'
import { withSecurityHeaders } from '../http/response-headers.ts'
import type { GrpcExchange, GrpcIncoming, GrpcOutgoing, Metadata } from '../transports/grpc/rpc.ts'
import { createHttp2Peers, createSlowRequests, type Http2Peers } from './http2-connections.ts'
import { allOf, certificateOf, defer, nextTurn, type Room } from './incoming.ts'

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

export interface GrpcAnswering {
  readonly exchange: GrpcExchange
  /** Milliseconds for which a caller may take nothing of a stream. */
  readonly unreadTimeout: number
}

export interface Http2Answering {
  readonly exchange: Exchange
  readonly onError: (error: unknown) => void
  /** Milliseconds for which a caller may take nothing of a stream. */
  readonly unreadTimeout: number
}

/** A view of a request of HTTP/2, plain or gRPC. A class for the same reason as the one of HTTP/1.1. */
class Http2Incoming implements GrpcIncoming, Room {
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
      defer(() => resolve(bytes))
    })
    // It ends then, too, as if it were whole.
    stream.once('aborted', leave)
  })
}

interface Collecting {
  /** What the caller says of the length, if anything. */
  readonly announced: number
  readonly limit: number
  readonly room: Room
}

/** A stream is aborted when it ends before our side of it has. */
function signalOf(stream: ServerHttp2Stream): AbortSignal {
  const controller = new AbortController()
  if (stream.aborted) controller.abort()
  else stream.once('aborted', () => controller.abort())
  return controller.signal
}

function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc\s*(?:[+;]|$)/i.test(contentType)
}

/** Answers a stream of HTTP/2 that is a gRPC call. */
async function answerGrpc(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { exchange, unreadTimeout }: GrpcAnswering,
): Promise<void> {
  const outgoing = await exchange(incoming)
  if ('rest' in outgoing) await sendMessages(stream, outgoing, unreadTimeout)
  else await sendWhole(stream, outgoing)
  dismiss(stream)
}

async function sendMessages(stream: ServerHttp2Stream, answer: Streamed, unreadTimeout: number): Promise<void> {
  const { headers, first, rest } = answer
  let trailers: Metadata = {}
  if (!stream.closed) {
    begin(stream, headers, () => trailers)
    stream.write(first)
  }
  trailers = (await writeAll(stream, rest, unreadTimeout)) ?? {}
  stream.end()
}

type Streamed = Extract<GrpcOutgoing, { readonly rest: unknown }>

function begin(stream: ServerHttp2Stream, headers: Metadata, trailers: () => Metadata): void {
  stream.once('wantTrailers', () => stream.sendTrailers(trailers()))
  stream.respond({ ':status': 200, ...headers }, { waitForTrailers: true })
}

/**
 * Writes all of a source as fast as the caller reads it, and releases it when the caller has gone, or takes nothing for
 * so many milliseconds. Gives what the source returns at its end.
 */
async function writeAll<R>(
  stream: ServerHttp2Stream,
  source: AsyncIterator<string | Uint8Array, R>,
  unreadTimeout: number,
): Promise<R | undefined> {
  // Not awaited: a generator that waits for its next item takes its `return` only after that.
  const release = (): void => {
    source.return?.().catch(() => {})
  }
  stream.once('aborted', release)
  if (isOver(stream)) release()
  while (!isOver(stream)) {
    if (stream.writableNeedDrain) await drained(stream, unreadTimeout)
    const { done, value } = await source.next()
    if (done) return value
    if (!isOver(stream)) stream.write(value)
  }
  return undefined
}

function isOver(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.writableEnded
}

/** Resolves when there is room again, or nobody to have room for. */
function drained(stream: ServerHttp2Stream, timeout: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL)
    const finish = (): void => {
      stream.setTimeout(0)
      stream.off('timeout', cancel)
      stream.off('drain', finish)
      stream.off('aborted', finish)
      resolve()
    }
    stream.setTimeout(timeout, cancel)
    stream.once('drain', finish)
    stream.once('aborted', finish)
  })
}

async function sendWhole(stream: ServerHttp2Stream, { headers, message, trailers }: Whole): Promise<void> {
  await nextTurn()
  if (stream.closed) return
  if (message) {
    begin(stream, headers, () => trailers)
    stream.end(message)
  } else {
    stream.respond({ ':status': 200, ...headers, ...trailers }, { endStream: true })
  }
}

type Whole = Exclude<GrpcOutgoing, Streamed>

/** RFC 9113 §8.1: a caller that is answered before it has sent all is told that the rest is not needed. */
function dismiss(stream: ServerHttp2Stream): void {
  // What has come already must be gone before the stream can close.
  if (!stream.readableEnded) stream.resume().close(constants.NGHTTP2_NO_ERROR)
}

/** Answers a request of HTTP/2 that is not gRPC, as the same one of HTTP/1.1 would be. */
async function answerHttp2(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { exchange, onError, unreadTimeout }: Http2Answering,
): Promise<void> {
  const outgoing = await runExchange(exchange, incoming, onError)
  const { body = '' } = outgoing
  const isHead = incoming.method === 'HEAD'
  const head = {
    ':status': outgoing.status,
    ...withSecurityHeaders(outgoing.headers, incoming.method, incoming.header('content-type')),
  }
  if (typeof body === 'string') {
    await nextTurn()
    if (!stream.closed) sendText(stream, head, body, isHead)
  } else {
    if (!stream.closed) stream.respond(head, { endStream: isHead })
    await writeAll(stream, body[Symbol.asyncIterator](), unreadTimeout)
    stream.end()
  }
  dismiss(stream)
}

function sendText(stream: ServerHttp2Stream, head: Head, text: string, isHead: boolean): void {
  const sized = isBodiless(head[':status']) ? head : { ...head, 'content-length': Buffer.byteLength(text) }
  if (isHead || text === '') {
    stream.respond(sized, { endStream: true })
  } else {
    stream.respond(sized)
    stream.end(text)
  }
}

type Head = { readonly ':status': number } & Readonly<Record<string, string | number>>

/** RFC 9110 §8.6: these have no `Content-Length`. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

const sessionOptions: ServerOptions = {
  // So many calls of one connection may run at once; more wait at the caller.
  settings: { maxConcurrentStreams: 1_000 },
}
