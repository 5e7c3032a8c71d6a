import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import { isTimeout } from '../base/clock.ts'
import {
  BodyTooLarge,
  type Exchange,
  isComplete,
  isShort,
  type PeerCertificate,
  runExchange,
  slicesOf,
  withSecurityHeaders,
} from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import type { GrpcExchange, GrpcIncoming, GrpcOutgoing, Metadata } from '../transports/grpc/rpc.ts'
import { createHttp2Connections, createSlowRequests, type Http2Connections } from './http2-connections.ts'
import {
  byteLength,
  CountedRequest,
  callerLeft,
  certificateOf,
  collectBody,
  isBodiless,
  joinedHeader,
  nextIteration,
} from './incoming.ts'

export interface Http2Options {
  readonly exchange: Exchange
  readonly grpc: GrpcExchange
  /** Timeout in milliseconds for receiving a complete request. */
  readonly requestTimeout: number
  /** How long an idle connection stays open, in milliseconds. */
  readonly keepAliveTimeout: number
  readonly onError: (error: unknown) => void
  /** Timeout in milliseconds after which a caller that reads nothing of its response is cut off. */
  readonly unreadTimeout: number
  /** Counts running requests and their bodies. */
  readonly load?: Load | undefined
}

export interface Http2 extends Pick<Http2Connections, 'drain' | 'close' | 'destroy'> {
  /** Serves HTTP/2 on an accepted connection. */
  accept(socket: Socket): void
}

/** HTTP/2 without its own port: gRPC, and everything that HTTP/1.1 serves. */
export function createHttp2(options: Http2Options): Http2 {
  const { requestTimeout, keepAliveTimeout, onError, load } = options
  const connections = createHttp2Connections(keepAliveTimeout)
  const slowRequests = createSlowRequests(requestTimeout)

  async function onStream(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    _flags: number,
    rawHeaders: readonly string[],
  ): Promise<void> {
    // An error also closes the stream, and `aborted` reports that.
    stream.on('error', () => {})
    slowRequests.watch(stream)
    const incoming = new Http2Incoming(stream, headers, rawHeaders, load)
    load?.begin()
    try {
      if (isGrpc(headers['content-type'])) await answerGrpc(stream, incoming, options)
      else await answerHttp(stream, incoming, options)
    } catch (error) {
      if (!stream.closed) onError(error)
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    } finally {
      incoming.end()
      slowRequests.forget(stream)
    }
  }

  return {
    accept(socket) {
      const session = performServerHandshake(socket, sessionOptions)
      // A protocol error of the peer closes its connection and affects no other.
      session.on('error', () => {})
      session.on('stream', onStream)
      connections.add(session, socket)
      // HTTP/1.1 servers keep half-open connections. In HTTP/2, responses would wait for a caller that has left.
      socket.once('end', () => socket.destroy())
    },
    drain: connections.drain,
    close() {
      slowRequests.stop()
      connections.close()
    },
    destroy: connections.destroy,
  }
}

const sessionOptions: ServerOptions = {
  // The number of calls that may run at once on one connection. The caller queues more.
  settings: { maxConcurrentStreams: 1_000 },
}

/** A view of an HTTP/2 request, plain or gRPC. A class for the same reason as `Http1Incoming`. */
class Http2Incoming extends CountedRequest implements GrpcIncoming {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly base = ''
  readonly secure: boolean
  readonly header: GrpcIncoming['header']
  readonly bytes: GrpcIncoming['bytes']
  readonly chunks: GrpcIncoming['chunks']
  readonly #stream: ServerHttp2Stream
  #signal: AbortSignal | undefined

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[], load?: Load) {
    super(load)
    const target = headers[':path'] ?? '/'
    const mark = target.indexOf('?')
    this.method = headers[':method'] ?? 'GET'
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
    this.secure = stream.session?.encrypted === true
    this.header = (name) => {
      if (name === 'authorization') return joinedHeader(rawHeaders, name)
      // RFC 9113 §8.3.1: `:authority` replaces `Host`.
      const value = (name === 'host' ? headers[':authority'] : undefined) ?? headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    }
    this.bytes = (limit) => {
      if (Number(headers['content-length']) > limit) return Promise.reject(new BodyTooLarge(limit))
      return stream.aborted ? Promise.reject(callerLeft()) : collectBody(stream, limit, this, 'aborted')
    }
    this.chunks = () => stream.iterator({ destroyOnReturn: false })
    this.#stream = stream
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#stream)
    return this.#signal
  }

  certificate(): PeerCertificate | undefined {
    return certificateOf(this.#stream.session?.socket)
  }

  address(): string | undefined {
    return this.#stream.session?.socket.remoteAddress
  }
}

/** Node aborts a stream that the caller ends before the response is complete. */
function signalOf(stream: ServerHttp2Stream): AbortSignal {
  const controller = new AbortController()
  if (stream.aborted) controller.abort()
  else stream.once('aborted', () => controller.abort())
  return controller.signal
}

function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc\s*(?:[+;]|$)/i.test(contentType)
}

async function answerGrpc(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { grpc, unreadTimeout }: Http2Options,
): Promise<void> {
  const outgoing = await grpc(incoming)
  if ('rest' in outgoing) await sendGrpcStream(stream, outgoing, unreadTimeout)
  else await sendGrpcMessage(stream, outgoing, unreadTimeout)
  cancelRequest(stream)
}

type GrpcStream = Extract<GrpcOutgoing, { readonly rest: unknown }>

async function sendGrpcStream(
  stream: ServerHttp2Stream,
  { headers, first, rest }: GrpcStream,
  unreadTimeout: number,
): Promise<void> {
  let trailers: Metadata = {}
  if (!stream.closed) {
    respondWithTrailers(stream, headers, () => trailers)
    stream.write(first)
  }
  trailers = (await writeAll(stream, rest, unreadTimeout)) ?? {}
  stream.end()
}

async function sendGrpcMessage(
  stream: ServerHttp2Stream,
  { headers, message, trailers }: Exclude<GrpcOutgoing, GrpcStream>,
  unreadTimeout: number,
): Promise<void> {
  await nextIteration()
  if (stream.closed) return
  if (message) {
    respondWithTrailers(stream, headers, () => trailers)
    if (message.length <= sliceBytes) return void stream.end(message)
    await writeAll(stream, toIterator([message]), unreadTimeout)
    stream.end()
  } else {
    stream.respond({ ':status': 200, ...headers, ...trailers }, { endStream: true })
  }
}

function respondWithTrailers(stream: ServerHttp2Stream, headers: Metadata, trailers: () => Metadata): void {
  stream.once('wantTrailers', () => stream.sendTrailers(trailers()))
  stream.respond({ ':status': 200, ...headers }, { waitForTrailers: true })
}

/** Answers an HTTP/2 request that is not gRPC in the same way as HTTP/1.1. */
async function answerHttp(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { exchange, onError, unreadTimeout }: Http2Options,
): Promise<void> {
  const outgoing = await runExchange(exchange, incoming, onError)
  const { body = '' } = outgoing
  const isHead = incoming.method === 'HEAD'
  const head = {
    ':status': outgoing.status,
    ...withSecurityHeaders(outgoing.headers, incoming.method, incoming.header('content-type')),
  }
  if (isComplete(body)) {
    await nextIteration()
    if (!stream.closed) await sendText(stream, head, body, isHead, unreadTimeout)
  } else {
    if (!stream.closed) stream.respond(head, { endStream: isHead })
    await writeAll(stream, body[Symbol.asyncIterator](), unreadTimeout)
    stream.end()
  }
  cancelRequest(stream)
}

type ResponseHead = { readonly ':status': number } & Readonly<Record<string, string | number>>

async function sendText(
  stream: ServerHttp2Stream,
  head: ResponseHead,
  body: string | readonly string[],
  isHead: boolean,
  unreadTimeout: number,
): Promise<void> {
  const sized = isBodiless(head[':status']) ? head : { ...head, 'content-length': byteLength(body) }
  if (isHead || body === '') {
    stream.respond(sized, { endStream: true })
    return
  }
  stream.respond(sized)
  if (isShort(body)) return void stream.end(body)
  await writeAll(stream, toIterator(typeof body === 'string' ? [body] : body), unreadTimeout)
  // The response counts in the load of the server until all of it is read.
  if (stream.writableNeedDrain && !isOver(stream)) await drained(stream, unreadTimeout)
  stream.end()
}

/** Bytes of one write of a long message. */
const sliceBytes = 64 * 1024

function* bytesOf(message: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < message.length; at += sliceBytes) yield message.subarray(at, at + sliceBytes)
}

async function* toIterator<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items
}

/**
 * Writes everything from a source as fast as the caller reads it. Releases the source when the caller disconnects or
 * needs more than `unreadTimeout` milliseconds to read one slice. Returns the return value of the source.
 */
async function writeAll<R>(
  stream: ServerHttp2Stream,
  source: AsyncIterator<string | Uint8Array, R>,
  unreadTimeout: number,
): Promise<R | undefined> {
  // Not awaited: a generator that waits for its next item handles `return` only after that.
  const release = (): void => {
    source.return?.().catch(() => {})
  }
  stream.once('aborted', release)
  if (isOver(stream)) release()
  while (!isOver(stream)) {
    if (stream.writableNeedDrain) await drained(stream, unreadTimeout)
    const { done, value } = await source.next()
    if (done) return value
    for (const slice of typeof value === 'string' ? slicesOf(value) : bytesOf(value)) {
      if (isOver(stream)) return undefined
      if (stream.writableNeedDrain) await drained(stream, unreadTimeout)
      if (!isOver(stream)) stream.write(slice)
    }
  }
  return undefined
}

function isOver(stream: ServerHttp2Stream): boolean {
  return stream.closed || stream.writableEnded
}

/** Resolves when the buffer has room again or the caller has disconnected. */
function drained(stream: ServerHttp2Stream, timeout: number): Promise<void> {
  return new Promise((resolve) => {
    const cancel = (): void => stream.close(constants.NGHTTP2_CANCEL)
    const finish = (): void => {
      clearTimeout(timer)
      stream.off('drain', finish)
      stream.off('aborted', finish)
      resolve()
    }
    // A timeout of the stream would begin anew with every byte that the caller reads.
    const timer = isTimeout(timeout) ? setTimeout(cancel, timeout).unref() : undefined
    stream.once('drain', finish)
    stream.once('aborted', finish)
  })
}

/** RFC 9113 §8.1: a server that responds before the request is complete asks the caller to stop sending. */
function cancelRequest(stream: ServerHttp2Stream): void {
  // Received data must be consumed before the stream can close.
  if (!stream.readableEnded) stream.resume().close(constants.NGHTTP2_NO_ERROR)
}
