import { type ClientRequest, type IncomingMessage, type Agent as PlainAgent, request as plainRequest } from 'node:http'
import { type Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { hostOf, RequestRefused } from '../../http/address-guard.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import type { Hop } from '../../http/redirect.ts'

/** Limits on a response. Timeouts are in milliseconds. */
export interface GuardLimits {
  /** For opening a connection, including TLS. Defaults to 10,000. */
  readonly connectTimeout?: number
  /** For the headers of the response. Agents may take long: defaults to 300,000. */
  readonly headersTimeout?: number
  /** For the next bytes of the body. Defaults to 300,000. */
  readonly idleTimeout?: number
  /** For the whole response, unless the request accepts an event stream. Defaults to 600,000. */
  readonly totalTimeout?: number
  /** Maximum size of a decompressed body in bytes, unless the request accepts an event stream. Defaults to 64 MiB. */
  readonly maxBytes?: number
}

export function limitsOf(options: GuardLimits, isStream: boolean): Required<GuardLimits> {
  const { connectTimeout = 10_000, headersTimeout = 300_000, idleTimeout = 300_000 } = options
  const { totalTimeout = 600_000, maxBytes = 64 * 2 ** 20 } = options
  const unlimited = isStream ? { totalTimeout: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY } : {}
  return { connectTimeout, headersTimeout, idleTimeout, totalTimeout, maxBytes, ...unlimited }
}

export interface Sender {
  readonly plain: PlainAgent
  readonly tls: TlsAgent
  readonly lookup: LookupFunction
}

/** Sends one request and resolves with the response, whose body is unread. Follows no redirects. */
export function sendHop(
  hop: Hop,
  { plain, tls, lookup }: Sender,
  { connectTimeout, headersTimeout }: Required<GuardLimits>,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { url, method, headers, body } = hop
    const isTls = url.protocol === 'https:'
    const options = {
      host: hostOf(url),
      port: portOf(url),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { host: url.host, ...Object.fromEntries(headers), ...lengthOf(body, method) },
      lookup,
    }
    const request = isTls
      ? tlsRequest({ ...options, agent: tls, servername: serverNameOf(options.host) })
      : plainRequest({ ...options, agent: plain })
    const clearConnect = limitConnect(request, connectTimeout, isTls)
    const clearHeaders = startTimer(headersTimeout, () =>
      request.destroy(new TimeLimitExceeded('headers', headersTimeout)),
    )
    const settle = () => {
      clearConnect()
      clearHeaders()
    }
    // Neither the option `signal` nor a reason: both end the socket with an error. The first outlives the request in the
    // agent's pool, and destroying a request discards its response, after which nothing listens to errors of the socket.
    const abort = () => void request.destroy()
    signal.addEventListener('abort', abort)
    request.once('response', (message) => {
      settle()
      resolve(message)
    })
    request.once('upgrade', (_, socket) => socket.destroy())
    request.on('error', (error) => {
      settle()
      reject(error)
    })
    request.once('close', () => {
      settle()
      signal.removeEventListener('abort', abort)
      reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    })
    request.end(body)
  })
}

export interface ReadRequest {
  readonly hop: Hop
  readonly signal: AbortSignal | undefined
  readonly redirect: RequestRedirect
}

/** Reads the arguments of `fetch`. The body is read completely, so that redirects can send it again. */
export async function readRequest(address: string | URL, init: RequestInit): Promise<ReadRequest> {
  const url = parseUrl(address)
  const headers = new Headers(init.headers)
  for (const name of connectionHeaders) headers.delete(name)
  const body = await readBody(init.body, headers)
  // A compressed response could grow enormously when it is decompressed.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  if (!headers.has('accept')) headers.set('accept', '*/*')
  const method = (init.method ?? 'GET').toUpperCase()
  const hop = { url, method, headers, body }
  return { hop, signal: init.signal ?? undefined, redirect: init.redirect ?? 'follow' }
}

export function parseUrl(address: string | URL): URL {
  const url = URL.parse(`${address}`)
  if (url) return url
  throw new RequestRefused('bad-url', 'the address is not a valid URL')
}

export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}

/** A header of the connection. A caller that could set one could smuggle in a second request (RFC 9112 §11.2). */
export function isConnectionHeader(name: string): boolean {
  return connectionHeaders.has(name)
}

export interface ResponseBodyOptions {
  readonly maxBytes: number
  readonly idleTimeout: number
  /** Called once, when the response is no longer needed. */
  readonly release: () => void
  /** Replaces a socket error by the reason of an abort, if there was one. */
  readonly errorOf: (error: unknown) => unknown
}

/** Reads the body from the socket as it is pulled, up to `maxBytes`. */
export function createResponseBody(message: IncomingMessage, options: ResponseBodyOptions): ReadableStream<Uint8Array> {
  const { maxBytes, idleTimeout, release, errorOf } = options
  const source = decompressed(message)
  const chunks: AsyncIterator<Buffer> = source[Symbol.asyncIterator]()
  let length = 0

  function end(): void {
    release()
    message.destroy()
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const clear = startTimer(idleTimeout, () => source.destroy(new TimeLimitExceeded('body', idleTimeout)))
        try {
          const { done, value } = await chunks.next()
          if (done) {
            release()
            return controller.close()
          }
          length += value.length
          if (length > maxBytes) throw new BodyTooLarge(maxBytes)
          controller.enqueue(value)
        } catch (error) {
          controller.error(errorOf(error))
          end()
        } finally {
          clear()
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}

/** Starts a timer, except for an infinite duration. Returns a function that clears it. */
export function startTimer(milliseconds: number, act: () => void): () => void {
  if (milliseconds >= 2 ** 31) return () => {}
  // Unreferenced: an open connection keeps the process alive.
  const timer = setTimeout(act, milliseconds).unref()
  return () => clearTimeout(timer)
}

/** A request took longer than a limit allows. `code` names the limit. */
export class TimeLimitExceeded extends Error {
  override readonly name = 'TimeLimitExceeded'
  readonly code: `ERR_${'CONNECT' | 'HEADERS' | 'BODY' | 'TOTAL'}_TIMEOUT`

  constructor(limit: 'connect' | 'headers' | 'body' | 'total', milliseconds: number) {
    super(`${messages[limit]} within ${milliseconds / 1000} seconds`)
    this.code = `ERR_${limit.toUpperCase() as 'CONNECT' | 'HEADERS' | 'BODY' | 'TOTAL'}_TIMEOUT`
  }
}

const messages = {
  connect: 'there was no connection',
  headers: 'there was no answer',
  body: 'nothing more of the answer came',
  total: 'the answer was not complete',
}

function lengthOf(body: Uint8Array | undefined, method: string): Record<string, string> {
  if (body) return { 'content-length': `${body.length}` }
  return method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' }
}

/** The server name of TLS. Host names only: RFC 6066 §3 does not allow addresses. */
export function serverNameOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host
}

function limitConnect(request: ClientRequest, milliseconds: number, isTls: boolean): () => void {
  const clear = startTimer(milliseconds, () => request.destroy(new TimeLimitExceeded('connect', milliseconds)))
  request.once('socket', (socket) => {
    // A reused connection is open already.
    if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', clear)
    else clear()
  })
  return clear
}

const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'proxy-authorization',
  'proxy-connection',
])

async function readBody(body: BodyInit | null | undefined, headers: Headers): Promise<Uint8Array | undefined> {
  if (body === null || body === undefined) return undefined
  if (body instanceof Uint8Array) return body
  if (typeof body === 'string') {
    // Most bodies are texts, and a `Response` would cost more than sending them.
    if (!headers.has('content-type')) headers.set('content-type', 'text/plain;charset=UTF-8')
    return Buffer.from(body)
  }
  const encoded = new Response(body)
  const type = encoded.headers.get('content-type')
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
  return new Uint8Array(await encoded.arrayBuffer())
}

/** Some servers compress without being asked. The size limit applies to the decompressed bytes. */
function decompressed(message: IncomingMessage): Readable {
  const decoder = decoders[message.headers['content-encoding']?.trim().toLowerCase() ?? '']?.()
  if (!decoder) return message
  message.once('error', (error) => decoder.destroy(error))
  message.once('aborted', () => decoder.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })))
  return message.pipe(decoder)
}

const decoders: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}
