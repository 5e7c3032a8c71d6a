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
import { anObject, checkOptions, listOf, milliseconds, type OptionChecks, oneOf, text } from '../base/options.ts'
import { createGuard, type GuardOptions, type LoopbackRule } from '../http/address-guard.ts'
import { type Fetch, type ResponseWithTrailers, withTrailers } from '../http/fetch.ts'
import { createGrpcClient, grpcUrl } from '../transports/grpc/client.ts'
import type { LoopbackTransport } from './guarded-fetch/connect.ts'
import { pinnedLookup, systemResolve } from './guarded-fetch/pinned-lookup.ts'
import { startTimer, TimeLimitExceeded } from './guarded-fetch/send.ts'

/** The client certificate (mutual TLS), and authorities to trust besides those of the system. */
export type TlsOptions = Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase' | 'ca'>

/** Options of `grpc`. */
export interface GrpcOptions extends Pick<GuardOptions, 'allow'> {
  /** Whether this machine may be called. Defaults to `allow` for clients of an agent on this machine, else to `refuse`. */
  readonly loopback?: LoopbackRule
  readonly tls?: TlsOptions
  /** Timeout in milliseconds for opening a connection. Defaults to 10,000. */
  readonly connectTimeout?: number
  /** How often a connection with open calls is pinged, in milliseconds. Defaults to 20,000. */
  readonly keepAlive?: number
}

/** A2A over gRPC, to be passed to `connect`. All clients that it is passed to share its connections. */
export interface Grpc extends LoopbackTransport {
  /** Ends the connections after their calls. Idle connections end on their own and keep no process alive. */
  close(): void
}

const optionChecks: OptionChecks<GrpcOptions> = {
  allow: listOf(text),
  loopback: oneOf('allow', 'refuse'),
  tls: anObject,
  connectTimeout: milliseconds({ min: 1 }),
  keepAlive: milliseconds({ min: 1 }),
}

/**
 * Makes a client call agents over gRPC.
 *
 * @example
 * const client = await connect('https://agent.example.com', { bindings: [grpc()] })
 */
export function grpc(options: GrpcOptions = {}): Grpc {
  checkOptions('grpc', options, optionChecks)
  const { loopback } = options
  const transport = createTransport(options, loopback ?? 'refuse')
  if (loopback !== undefined) return transport
  const onThisMachine = createTransport(options, 'allow')
  return {
    ...transport,
    onThisMachine,
    close() {
      transport.close()
      onThisMachine.close()
    },
  }
}

function createTransport({ allow = [], ...options }: GrpcOptions, loopback: LoopbackRule): Grpc {
  const { tls = {}, connectTimeout = 10_000, keepAlive = 20_000 } = options
  const guard = createGuard({ allow, loopback })
  const sessions = createSessions({ tls, connectTimeout, keepAlive, lookup: pinnedLookup(guard, systemResolve) })
  return {
    binding: 'GRPC',
    fetch: createHttp2Fetch(sessions, guard.checkUrl),
    open: createGrpcClient,
    addressOf: grpcUrl,
    close: () => sessions.close(),
  }
}

/** A `fetch` over HTTP/2 whose responses have trailers. Only for gRPC: bodies are bytes, and it follows no redirects. */
function createHttp2Fetch(sessions: Sessions, check: (url: URL) => void): Fetch {
  return async (address, init) => {
    const url = new URL(address)
    check(url)
    init.signal?.throwIfAborted()
    const stream = openStream(sessions, url, init)
    stream.end(init.body)
    return await readResponse(stream, init.signal ?? neverAborted)
  }
}

const neverAborted = new AbortController().signal

interface SessionOptions {
  readonly tls: TlsOptions
  readonly lookup: LookupFunction
  readonly connectTimeout: number
  readonly keepAlive: number
}

/** HTTP/2 connections, one per origin, kept while they are used. */
interface Sessions {
  /** Returns a connection for a call, perhaps still connecting. The call must call `done` when it has ended. */
  take(origin: string): { readonly session: ClientHttp2Session; readonly done: () => void }
  close(): void
}

interface SessionUse {
  readonly session: ClientHttp2Session
  calls: number
  /** Stops the ping timer of a used session, or the idle timer of an unused one. */
  release: () => void
}

/** How many bytes a server may send ahead of the reader, per call. */
const initialWindowSize = 2 ** 20

function createSessions(options: SessionOptions): Sessions {
  const sessions = new Map<string, SessionUse>()

  function open(origin: string): SessionUse {
    const { tls, lookup, connectTimeout } = options
    const settings = { enablePush: false, initialWindowSize }
    const session = connect(origin, { ...(origin.startsWith('https:') && tls), lookup, settings })
    const use: SessionUse = { session, calls: 0, release: () => {} }
    sessions.set(origin, use)
    const clear = startTimer(connectTimeout, () => session.destroy(new TimeLimitExceeded('connect', connectTimeout)))
    session.once('connect', clear)
    const forget = () => {
      if (sessions.get(origin) === use) sessions.delete(origin)
    }
    // The streams of the session report the error to their calls.
    session.on('error', forget)
    session.once('goaway', forget)
    session.once('close', () => {
      clear()
      use.release()
      forget()
    })
    return use
  }

  return {
    take(origin) {
      const existing = sessions.get(origin)
      const isOpen = existing && !existing.session.closed && !existing.session.destroyed
      const use = isOpen ? existing : open(origin)
      if (use.calls++ === 0) {
        use.release()
        use.session.ref()
        use.release = pingRegularly(use.session, options.keepAlive)
      }
      return { session: use.session, done: () => endCall(use) }
    },
    close() {
      for (const { session } of sessions.values()) session.close()
      sessions.clear()
    },
  }
}

/** While a call is silent, only a ping shows whether the server is still there. */
function pingRegularly(session: ClientHttp2Session, milliseconds: number): () => void {
  let awaitsPong = false
  const timer = setInterval(() => {
    if (session.connecting || session.destroyed) return
    if (awaitsPong) return session.destroy(connectionLost('the connection does not answer any more'))
    awaitsPong = session.ping(() => {
      awaitsPong = false
    })
  }, milliseconds).unref()
  return () => clearInterval(timer)
}

/** How long an unused connection is kept, in milliseconds. */
const idleTime = 30_000

function endCall(use: SessionUse): void {
  if (--use.calls > 0) return
  use.release()
  const { session } = use
  if (session.destroyed) return
  // An unused connection keeps no process alive.
  session.unref()
  use.release = startTimer(idleTime, () => session.close())
}

function openStream(sessions: Sessions, url: URL, { method = 'POST', headers }: RequestInit): ClientHttp2Stream {
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

function readResponse(stream: ClientHttp2Stream, signal: AbortSignal): Promise<ResponseWithTrailers> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason)
      cancel(stream)
    }
    signal.addEventListener('abort', abort)
    const { promise: trailers, resolve: end } = Promise.withResolvers<Headers>()
    stream.once('trailers', (headers) => end(toHeaders(headers)))
    stream.once('response', (headers) => resolve(withTrailers(toResponse(stream, headers, signal), trailers)))
    stream.on('error', reject)
    stream.once('close', () => {
      signal.removeEventListener('abort', abort)
      end(new Headers())
      reject(callCutOff())
    })
  })
}

/** Received data must be consumed before a stream can close. */
function cancel(stream: ClientHttp2Stream): void {
  stream.resume().close(constants.NGHTTP2_CANCEL)
}

function toHeaders(received: IncomingHttpHeaders): Headers {
  const headers = new Headers()
  for (const [name, values] of Object.entries(received)) {
    if (name.startsWith(':') || values === undefined) continue
    for (const value of [values].flat()) headers.append(name, `${value}`)
  }
  return headers
}

const unauthenticated = '16'

const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

function toResponse(
  stream: ClientHttp2Stream,
  received: IncomingHttpHeaders & IncomingHttpStatusHeader,
  signal: AbortSignal,
): Response {
  const headers = toHeaders(received)
  // Credential providers react to 401, for which gRPC has its own status.
  const status = headers.get('grpc-status') === unauthenticated ? 401 : (received[':status'] ?? 500)
  return new Response(bodiless.has(status) ? null : createBody(stream, signal), { status, headers })
}

/** Reads only what is pulled: a slow reader slows down only its own call. */
function createBody(stream: ClientHttp2Stream, signal: AbortSignal): ReadableStream<Uint8Array> {
  let isOver = false
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const finish = (act: () => void) => {
          if (!isOver) act()
          isOver = true
          signal.removeEventListener('abort', abort)
        }
        const abort = () => finish(() => controller.error(signal.reason))
        const fail = (error: unknown = callCutOff()) => finish(() => controller.error(error))
        signal.addEventListener('abort', abort)
        stream.on('data', (chunk: Uint8Array) => {
          if (isOver) return
          controller.enqueue(chunk)
          stream.pause()
        })
        stream.pause()
        stream.once('error', fail)
        // An aborted stream also emits `end`, as if it were complete.
        stream.once('aborted', () => fail())
        stream.once('end', () => finish(() => controller.close()))
        stream.once('close', () => fail())
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

function callCutOff(): Error {
  return connectionLost('the call was cut off')
}

function connectionLost(message: string): Error {
  return Object.assign(new Error(message), { code: 'ECONNRESET' })
}
