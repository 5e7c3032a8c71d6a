import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import type { LookupFunction } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import type { Transport } from '../client/options.ts'
import { createGuard, type GuardOptions } from '../http/address-guard.ts'
import { type Fetch, type ResponseWithTrailers, withTrailers } from '../http/fetch.ts'
import { createGrpcClient, grpcUrl } from '../transports/grpc/client.ts'
import { loopbackHere, warnOfLoopback } from './guarded-fetch/guarded-fetch.ts'
import { pinnedLookup, systemResolve } from './guarded-fetch/pinned-lookup.ts'
import { after, Exceeded } from './guarded-fetch/send.ts'

/** Milliseconds for which an idle connection is kept. */
const kept = 30_000

/** Bytes that a server may send ahead of a reader, per call. */
const initialWindowSize = 2 ** 20

const never = new AbortController().signal

const unauthenticated = '16'

const bodyless: ReadonlySet<number> = new Set([204, 205, 304])

/** Who we are to servers that ask (mutual TLS), and whom we trust besides the authorities of the system. */
export type TlsOptions = Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase' | 'ca'>

export interface GrpcOptions extends Pick<GuardOptions, 'allow' | 'loopback'> {
  readonly tls?: TlsOptions
  /** Milliseconds until there must be a connection. 10 seconds by default. */
  readonly connectTimeout?: number
  /** Milliseconds after which a connection with open calls is asked whether it is still there. 20 seconds by default. */
  readonly keepAlive?: number
}

/** A2A over gRPC, to be handed to `connect`. Its connections are shared by all clients that it is handed to. */
export interface Grpc extends Transport {
  /** Ends the connections when their calls have ended. Idle ones end by themselves, and keep no process alive. */
  close(): void
}

/** Calls agents over gRPC: `connect(url, { bindings: [grpc()] })`. */
export function grpc(options: GrpcOptions = {}): Grpc {
  const { tls = {}, connectTimeout = 10_000, keepAlive = 20_000 } = options
  const guard = createGuard({ loopback: loopbackHere(), ...options, warn: (host) => warnOfLoopback(host) })
  const sessions = createSessions({ tls, connectTimeout, keepAlive, lookup: pinnedLookup(guard, systemResolve) })
  return {
    binding: 'GRPC',
    fetch: createHttp2Fetch(sessions, guard.checkUrl),
    open: createGrpcClient,
    addressOf: grpcUrl,
    close: () => sessions.close(),
  }
}

export interface SessionOptions {
  readonly tls: TlsOptions
  readonly lookup: LookupFunction
  /** Milliseconds until there must be a connection. */
  readonly connectTimeout: number
  /** Milliseconds after which a connection with open calls is asked whether it is still there. */
  readonly keepAlive: number
}

/** Connections of HTTP/2, one for each origin, that are there as long as they are used. */
export interface Sessions {
  /** A connection for a call, which may still be coming about. `done` when the call has ended. */
  take(origin: string): { readonly session: ClientHttp2Session; readonly done: () => void }
  close(): void
}

function createSessions(options: SessionOptions): Sessions {
  const sessions = new Map<string, Used>()

  function open(origin: string): Used {
    const { tls, lookup, connectTimeout } = options
    const settings = { enablePush: false, initialWindowSize }
    const session = connect(origin, { ...(origin.startsWith('https:') && tls), lookup, settings })
    const used: Used = { session, calls: 0, release: () => {} }
    sessions.set(origin, used)
    const clear = after(connectTimeout, () => session.destroy(new Exceeded('connect', connectTimeout)))
    session.once('connect', clear)
    const forget = () => {
      if (sessions.get(origin) === used) sessions.delete(origin)
    }
    // Calls hear of it by themselves.
    session.on('error', forget)
    session.once('goaway', forget)
    session.once('close', () => {
      clear()
      used.release()
      forget()
    })
    return used
  }

  return {
    take(origin) {
      const known = sessions.get(origin)
      const isOpen = known && !known.session.closed && !known.session.destroyed
      const used = isOpen ? known : open(origin)
      if (used.calls++ === 0) {
        used.release()
        used.session.ref()
        used.release = watch(used.session, options.keepAlive)
      }
      return { session: used.session, done: () => leave(used) }
    },
    close() {
      for (const { session } of sessions.values()) session.close()
      sessions.clear()
    },
  }
}

/** A `fetch` over HTTP/2 whose answers have trailers. It is for gRPC: bodies are bytes, and nothing is redirected. */
function createHttp2Fetch(sessions: Sessions, check: (url: URL) => void): Fetch {
  return async (address, init) => {
    const url = new URL(address)
    check(url)
    init.signal?.throwIfAborted()
    const stream = begin(sessions, url, init)
    stream.end(init.body)
    return await answerOf(stream, init.signal ?? never)
  }
}

interface Used {
  readonly session: ClientHttp2Session
  calls: number
  /** Ends what is done while it is in use, or idle. */
  release: () => void
}

/** While a call has nothing to say, only asking tells whether the other side is still there. */
function watch(session: ClientHttp2Session, milliseconds: number): () => void {
  let isAsked = false
  const timer = setInterval(() => {
    if (session.connecting || session.destroyed) return
    if (isAsked) return session.destroy(lostSessions())
    isAsked = session.ping(() => {
      isAsked = false
    })
  }, milliseconds).unref()
  return () => clearInterval(timer)
}

function lostSessions(): Error {
  return Object.assign(new Error('the connection does not answer any more'), { code: 'ECONNRESET' })
}

function leave(used: Used): void {
  if (--used.calls > 0) return
  used.release()
  const { session } = used
  if (session.destroyed) return
  // A connection that nobody uses keeps no process alive.
  session.unref()
  used.release = after(kept, () => session.close())
}

function begin(sessions: Sessions, url: URL, { method = 'POST', headers }: RequestInit): ClientHttp2Stream {
  const { session, done } = sessions.take(url.origin)
  try {
    const path = `${url.pathname}${url.search}`
    const stream = session.request({ ':method': method, ':path': path, ...Object.fromEntries(new Headers(headers)) })
    return stream.once('close', done)
  } catch (error) {
    done()
    throw error
  }
}

function answerOf(stream: ClientHttp2Stream, signal: AbortSignal): Promise<ResponseWithTrailers> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      reject(signal.reason)
      cancel(stream)
    }
    signal.addEventListener('abort', leave)
    const { promise: trailers, resolve: end } = Promise.withResolvers<Headers>()
    stream.once('trailers', (told) => end(headersOf(told)))
    stream.once('response', (told) => resolve(withTrailers(responseOf(stream, told, signal), trailers)))
    stream.on('error', reject)
    stream.once('close', () => {
      signal.removeEventListener('abort', leave)
      end(new Headers())
      reject(lost())
    })
  })
}

/** What has come already must be gone before a stream can close. */
function cancel(stream: ClientHttp2Stream): void {
  stream.resume().close(constants.NGHTTP2_CANCEL)
}

function headersOf(told: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(told)) {
    if (name.startsWith(':') || value === undefined) continue
    for (const each of [value].flat()) headers.append(name, `${each}`)
  }
  return headers
}

function responseOf(
  stream: ClientHttp2Stream,
  told: IncomingHttpHeaders & IncomingHttpStatusHeader,
  signal: AbortSignal,
): Response {
  const headers = headersOf(told)
  // Whoever gives credentials is asked for others by 401; gRPC has a status of its own for it.
  const status = headers.get('grpc-status') === unauthenticated ? 401 : (told[':status'] ?? 500)
  return new Response(bodyless.has(status) ? null : bodyOf(stream, signal), { status, headers })
}

/** Read as fast as it is pulled: a slow reader slows only its own call. */
function bodyOf(stream: ClientHttp2Stream, signal: AbortSignal): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const finish = (act: () => void) => {
          if (!isOver) act()
          isOver = true
          signal.removeEventListener('abort', leave)
        }
        const leave = () => finish(() => controller.error(signal.reason))
        const breakOff = (error: unknown = lost()) => finish(() => controller.error(error))
        signal.addEventListener('abort', leave)
        stream.on('data', (chunk: Uint8Array) => {
          if (isOver) return
          controller.enqueue(chunk)
          stream.pause()
        })
        stream.pause()
        stream.once('error', breakOff)
        // It ends then, too, as if it were whole.
        stream.once('aborted', () => breakOff())
        stream.once('end', () => finish(() => controller.close()))
        stream.once('close', () => breakOff())
      },
      pull() {
        stream.resume()
      },
      cancel() {
        isOver = true
        cancel(stream)
      },
    },
    { highWaterMark: 0 },
  )
}

function lost(): Error {
  return Object.assign(new Error('the call was cut off'), { code: 'ECONNRESET' })
}
