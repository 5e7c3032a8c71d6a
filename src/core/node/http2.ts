import {
  constants,
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Stream,
  type ServerOptions,
} from 'node:http2'
import type { Socket } from 'node:net'
import { isTimeout } from '../base/clock.ts'
import { type Exchange, isComplete, isShort, runExchange, slicesOf, withSecurityHeaders } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import type { GrpcExchange, GrpcOutgoing, Metadata } from '../transports/grpc/rpc.ts'
import { createHttp2Connections, type Http2Connection, type Http2Connections } from './http2-connections.ts'
import { Http2Incoming, type RequestContext } from './http2-incoming.ts'
import { byteLength, isBodiless, nextIteration } from './incoming.ts'

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
  const { onError, load } = options
  const connections = createHttp2Connections(options)

  async function onStream(
    connection: Http2Connection,
    context: RequestContext,
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
  ): Promise<void> {
    // An error also closes the stream, and `aborted` reports that.
    stream.on('error', ignore)
    const open = connection.track(stream)
    const incoming = new Http2Incoming(stream, headers, rawHeaders, context)
    load?.begin()
    try {
      if (isGrpc(headers['content-type'])) await answerGrpc(stream, incoming, options)
      else await answerHttp(stream, incoming, options)
    } catch (error) {
      if (!stream.closed) onError(error)
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    } finally {
      incoming.end()
      open.answered()
    }
  }

  return {
    accept(socket) {
      const session = performServerHandshake(socket, sessionOptions)
      // A protocol error of the peer closes its connection and affects no other.
      session.on('error', ignore)
      const connection = connections.add(session, socket)
      const context: RequestContext = { secure: session.encrypted === true, load }
      session.on('stream', (stream, headers, _flags, rawHeaders) => {
        void onStream(connection, context, stream, headers, rawHeaders)
      })
      // HTTP/1.1 servers keep half-open connections. In HTTP/2, responses would wait for a caller that has left.
      socket.once('end', () => socket.destroy())
    },
    drain: connections.drain,
    close: connections.close,
    destroy: connections.destroy,
  }
}

const ignore = (): void => {}

const sessionOptions: ServerOptions = {
  // The number of calls that may run at once on one connection. The caller queues more.
  settings: { maxConcurrentStreams: 1_000 },
}

function isGrpc(contentType: string | undefined): boolean {
  if (contentType === 'application/grpc') return true
  return contentType !== undefined && /^application\/grpc\s*(?:[+;]|$)/i.test(contentType)
}

async function answerGrpc(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { grpc, unreadTimeout }: Http2Options,
): Promise<void> {
  const outgoing = await grpc(incoming)
  if ('rest' in outgoing) {
    await sendGrpcStream(stream, outgoing, unreadTimeout)
  } else if (!stream.closed) {
    const { headers, message, trailers } = outgoing
    if (message) {
      respondWithTrailers(stream, headers, () => trailers)
      if (message.length > sliceBytes) await writeAll(stream, toIterator([message]), unreadTimeout)
      stream.end(message.length > sliceBytes ? undefined : message)
    } else {
      stream.respond({ ...headers, ...trailers }, { endStream: true })
    }
  }
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

/** Node adds the status 200, and asks for the trailers once. */
function respondWithTrailers(stream: ServerHttp2Stream, headers: Metadata, trailers: () => Metadata): void {
  stream.on('wantTrailers', () => stream.sendTrailers(trailers()))
  stream.respond(headers, withTrailers)
}

const withTrailers = { waitForTrailers: true } as const

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
