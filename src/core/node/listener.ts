import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { isTimeout } from '../base/clock.ts'
import { aFunction, anObject, checkOptions, milliseconds } from '../base/options.ts'
import {
  type Exchange,
  type Incoming,
  internalError,
  isComplete,
  isShort,
  type Outgoing,
  type PeerCertificate,
  runExchange,
  slicesOf,
  withSecurityHeaders,
} from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import {
  ambiguityIn,
  byteLength,
  CountedRequest,
  certificateOf,
  type ExpressRequest,
  isBodiless,
  joinedHeader,
  type PassedRequest,
  readBody,
} from './incoming.ts'
import { refusalOf } from './refuse-request.ts'

export interface ListenerOptions {
  /** Receives errors thrown by an exchange or its stream. The caller does not see them. */
  readonly onError?: (error: unknown) => void
  /** Counts running requests and their bodies. */
  readonly load?: Load | undefined
  /** Milliseconds in which a caller has to read 64 KiB of its response; a slower one is cut off. Defaults to none. */
  readonly unreadTimeout?: number
}

/**
 * Serves an exchange from `node:http`, alone or mounted in Express and frameworks like it. Mounted at the root, it
 * passes requests for other paths on to `next`.
 *
 * @example
 * const handler = createHandler(echo, { auth: 'none' })
 * createServer(toListener(handler.exchange)).listen(4000)
 */
export function toListener(
  exchange: Exchange,
  options: ListenerOptions = {},
): (request: IncomingMessage, response: ServerResponse, next?: () => void) => void {
  checkOptions('toListener', options, {
    onError: aFunction,
    load: anObject,
    unreadTimeout: milliseconds({ min: 1 }),
  })
  aFunction(exchange, 'toListener(handler.exchange)')
  const answer = createAnswer(exchange, options)
  return (request, response, next) => {
    const answered = answer(request, response, undefined, next !== undefined)
    if (next) void answered.then((isAnswered) => isAnswered || next())
  }
}

/**
 * Answers one request. A request at the root of an application that is not for the agent `mayPass`: it stays unanswered,
 * and the result is false.
 */
export type NodeAnswer = (
  request: IncomingMessage,
  response: ServerResponse,
  passed?: PassedRequest,
  mayPass?: boolean,
) => Promise<boolean>

export interface AnswerOptions extends ListenerOptions {
  /** Whether a response that is sent now is the last one of its connection. Defaults to never. */
  readonly isLast?: (response: ServerResponse) => boolean
}

export function createAnswer(
  exchange: Exchange,
  { onError = console.error, load, unreadTimeout, isLast }: AnswerOptions = {},
): NodeAnswer {
  return async (request, response, passed, mayPass) => {
    const incoming = new Http1Incoming(request, response, load, passed)
    load?.begin()
    try {
      const outgoing = await runExchange(exchange, incoming, onError)
      if (mayPass && outgoing.isUnrouted && incoming.base === '') return false
      passed?.onResponse?.()
      if (isLast?.(response)) response.shouldKeepAlive = false
      const sending = send(response, outgoing, unreadTimeout)
      if (sending) await sending
    } catch (error) {
      if (response.closed) return true
      onError(error)
      // Closes without the end marker, so that the caller cannot take the response for complete.
      if (response.headersSent) response.socket?.destroySoon()
      else await send(response, internalError)
    } finally {
      incoming.end()
    }
    return true
  }
}

export interface StrictListenerOptions extends ListenerOptions {
  /** Whether callers are to leave their connections. A request that has already arrived behind another one is answered. */
  readonly isDraining: () => boolean
}

/** The same for a server that owns its port: a request that a proxy may have understood differently is refused. */
export function toStrictListener(exchange: Exchange, options: StrictListenerOptions): RequestListener {
  const newest = new WeakMap<Socket, ServerResponse>()
  const isLast = (response: ServerResponse) => options.isDraining() && newest.get(response.req.socket) === response
  const answer = createAnswer(exchange, { ...options, isLast })
  return (request, response) => {
    newest.set(request.socket, response)
    const fault = ambiguityIn(request)
    if (!fault) return void answer(request, response)
    const refusal = refusalOf(fault)
    response.setHeader('connection', 'close')
    void sendText(response, refusal, refusal.body)
  }
}

/**
 * Sends a complete response with its length: a short one in one write, a long one as fast as the caller reads it. Not
 * async: most responses are short, and sent at once.
 */
function sendText(
  response: ServerResponse,
  outgoing: Pick<Outgoing, 'status' | 'headers'>,
  body: string | readonly string[],
  unreadTimeout?: number,
): Promise<void> | undefined {
  const { req } = response
  if (!req.complete || response.closed || !isShort(body)) return sendSlowly(response, outgoing, body, unreadTimeout)
  const { status, headers } = outgoing
  const safe = withSecurityHeaders(headers, req.method, req.headers['content-type'])
  response
    .writeHead(status, isBodiless(status) ? safe : { ...safe, 'content-length': Buffer.byteLength(body) })
    .end(body)
  cutSlowReader(response, unreadTimeout)
}

/** Sends a long response, or one to a request whose body has not arrived. */
async function sendSlowly(
  response: ServerResponse,
  { status, headers }: Pick<Outgoing, 'status' | 'headers'>,
  body: string | readonly string[],
  unreadTimeout?: number,
): Promise<void> {
  // An exchange that does not read the body is faster than the body, which may have arrived already.
  if (!response.req.complete) await new Promise(setImmediate)
  if (response.closed) return
  const { req } = response
  const safe = withSecurityHeaders(headers, req.method, req.headers['content-type'])
  const sized = isBodiless(status) ? safe : { ...safe, 'content-length': byteLength(body) }
  if (!isShort(body)) {
    const head = response.req.complete ? sized : { ...sized, connection: 'close' }
    return await sendSlices(response.writeHead(status, head), body, unreadTimeout)
  }
  if (response.req.complete) {
    response.writeHead(status, sized).end(body)
    cutSlowReader(response, unreadTimeout)
    return
  }
  // RFC 9112 §9.6: closing while the caller still sends would reset the connection and could lose the response.
  response.writeHead(status, { ...sized, connection: 'close' }).flushHeaders()
  response.write(body)
  await discardBody(response.req)
  response.end()
  cutSlowReader(response, unreadTimeout)
}

/** Holds the text until the caller has read it, so that it counts in the load of the server for that long. */
async function sendSlices(
  response: ServerResponse,
  body: string | readonly string[],
  unreadTimeout: number | undefined,
): Promise<void> {
  if (response.req.method !== 'HEAD') {
    for (const slice of slicesOf(body)) {
      if (response.closed) return
      if (!response.write(slice)) await drained(response, unreadTimeout)
    }
  }
  if (!response.req.complete) await discardBody(response.req)
  response.end()
  cutSlowReader(response, unreadTimeout)
}

/**
 * A view of a Node request that creates nothing until it is used. A class, because a getter in an object literal gives
 * every request a new hidden class, which costs a fifth of the time.
 */
class Http1Incoming extends CountedRequest implements Incoming {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly base: string
  readonly secure: boolean
  readonly header: Incoming['header']
  readonly #request: ExpressRequest
  readonly #response: ServerResponse
  readonly #passed: PassedRequest | undefined
  #signal: AbortSignal | undefined

  constructor(request: ExpressRequest, response: ServerResponse, load?: Load, passed?: PassedRequest) {
    super(load)
    const { url = '/' } = passed ?? request
    const host = url.startsWith('/') ? undefined : hostIn(url)
    const target = originForm(url)
    const mark = target.indexOf('?')
    this.method = request.method ?? 'GET'
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
    this.base = passed?.base ?? request.baseUrl ?? ''
    this.secure = (request.socket as TLSSocket).encrypted === true
    this.header = headerReader(request, host)
    this.#request = request
    this.#response = response
    this.#passed = passed
  }

  bytes(limit: number): Promise<Uint8Array> {
    return readBody(this.#request, limit, this, this.#passed)
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response)
    return this.#signal
  }

  certificate(): PeerCertificate | undefined {
    return certificateOf(this.#request.socket)
  }

  address(): string | undefined {
    return this.#request.socket.remoteAddress
  }
}

/** Refers only to the headers: whatever keeps it does not keep the request. */
function headerReader({ headers, rawHeaders }: IncomingMessage, host: string | undefined): Incoming['header'] {
  return (name) => {
    // Node keeps only the first of several; a proxy in front may have checked another one.
    if (name === 'authorization') return joinedHeader(rawHeaders, name)
    if (name === 'host' && host !== undefined) return host
    const value = headers[name]
    return Array.isArray(value) ? value.join(', ') : value
  }
}

/** The host of an absolute target, which overrides the `Host` header. */
function hostIn(target: string): string | undefined {
  return /^https?:\/\/([^/?]*)/i.exec(target)?.[1]
}

/** RFC 9112 §3.2.2: a server must accept targets in absolute form, although only proxies need them. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const origin = target.replace(/^https?:\/\/[^/?]*/i, '')
  return origin.startsWith('/') ? origin : `/${origin}`
}

function signalOf(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  const close = (): void => {
    if (!response.writableFinished) controller.abort()
  }
  if (response.closed) close()
  else response.once('close', close)
  return controller.signal
}

function send(response: ServerResponse, outgoing: Outgoing, unreadTimeout?: number): Promise<void> | undefined {
  const { body = '' } = outgoing
  return isComplete(body)
    ? sendText(response, outgoing, body, unreadTimeout)
    : sendStream(response, outgoing, body, unreadTimeout)
}

/** Sends a stream as fast as the caller reads it, and releases its source when the caller disconnects. */
async function sendStream(
  response: ServerResponse,
  { status, headers }: Pick<Outgoing, 'status' | 'headers'>,
  source: AsyncIterable<string | Uint8Array>,
  unreadTimeout?: number,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]()
  // Not awaited: a generator that waits for its next item handles `return` only after that.
  const release = (): void => {
    iterator.return?.().catch(() => {})
  }
  if (response.closed) return release()
  response.once('close', release)
  const { req } = response
  response.writeHead(status, withSecurityHeaders(headers, req.method, req.headers['content-type']))
  if (req.method !== 'HEAD') {
    response.flushHeaders()
    await pump(iterator, response, unreadTimeout)
  }
  response.end()
}

async function pump(
  iterator: AsyncIterator<string | Uint8Array>,
  response: ServerResponse,
  timeout?: number,
): Promise<void> {
  for (;;) {
    const { done, value } = await iterator.next()
    if (done || response.closed) return
    for (const slice of typeof value === 'string' ? slicesOf(value) : [value]) {
      if (!response.write(slice)) await drained(response, timeout)
      if (response.closed) return
    }
  }
}

/** Resolves when the buffer has room again or the caller has disconnected. */
function drained(response: ServerResponse, timeout: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    const timer = startCut(response, timeout)
    const finish = (): void => {
      clearTimeout(timer)
      response.off('drain', finish)
      response.off('close', finish)
      resolve()
    }
    response.once('drain', finish)
    response.once('close', finish)
  })
}

/** Cuts off a caller that does not read the end of its response in time. Most have been written by now and need no timer. */
function cutSlowReader(response: ServerResponse, timeout: number | undefined): void {
  if (!response.socket?.writableLength || response.closed) return
  const timer = startCut(response, timeout)
  const finish = (): void => clearTimeout(timer)
  response.once('finish', finish)
  response.once('close', finish)
}

/**
 * Cuts off the caller after `timeout` milliseconds, in which it has to read one slice: the server would hold its response
 * in memory for any length of time. A timeout of the socket would begin anew with every byte that the caller reads.
 */
function startCut({ socket }: ServerResponse, timeout: number | undefined): NodeJS.Timeout | undefined {
  if (timeout === undefined || !isTimeout(timeout)) return undefined
  return setTimeout(() => socket?.destroy(), timeout).unref()
}

/** How long a caller may keep sending after its response was written, so that it can read it. In milliseconds. */
const lingerTime = 1_000

/** Discards the rest of a body. */
function discardBody(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(finish, lingerTime)
    request.once('close', finish)
    request.resume()
  })
}
