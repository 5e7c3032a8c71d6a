import { type ClientRequest, type IncomingMessage, type Agent as PlainAgent, request as plainRequest } from 'node:http'
import { type Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import type { Readable } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import { hostOf, RequestRefused } from '../../http/address-guard.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import type { Hop } from '../../http/redirect.ts'

/** What an answer may cost. Times are in milliseconds. */
export interface GuardLimits {
  /** Until there is a connection, with TLS. 10 seconds by default. */
  readonly connectTimeout?: number
  /** Until the head of the answer is there. Agents may think long: 5 minutes by default. */
  readonly headersTimeout?: number
  /** For which a reader waits for the next bytes. 5 minutes by default. */
  readonly idleTimeout?: number
  /** For the whole answer, unless a stream of events was asked for. 10 minutes by default. */
  readonly totalTimeout?: number
  /** Bytes of an answer, unpacked, unless a stream of events was asked for. 64 MiB by default. */
  readonly maxBytes?: number
}

export function limitsOf(given: GuardLimits, isStream: boolean): Required<GuardLimits> {
  const { connectTimeout = 10_000, headersTimeout = 300_000, idleTimeout = 300_000 } = given
  const { totalTimeout = 600_000, maxBytes = 64 * 2 ** 20 } = given
  const whole = isStream ? { totalTimeout: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY } : {}
  return { connectTimeout, headersTimeout, idleTimeout, totalTimeout, maxBytes, ...whole }
}

export interface Sender {
  readonly plain: PlainAgent
  readonly tls: TlsAgent
  readonly lookup: LookupFunction
}

/** Sends one request and gives the head of its answer; what has to be followed from it is somebody else's business. */
export function sendHop(
  hop: Hop,
  { plain, tls, lookup }: Sender,
  { connectTimeout, headersTimeout }: Required<GuardLimits>,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { url, method, headers, body } = hop
    const isTls = url.protocol === 'https:'
    const options = {
      host: hostOf(url),
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { host: url.host, ...Object.fromEntries(headers), ...lengthOf(body, method) },
      lookup,
      ...(signal && { signal }),
    }
    const request = isTls
      ? tlsRequest({ ...options, agent: tls, servername: serverNameOf(options.host) })
      : plainRequest({ ...options, agent: plain })
    const clearConnect = limitConnect(request, connectTimeout, isTls)
    const clearHeaders = after(headersTimeout, () => request.destroy(new Exceeded('headers', headersTimeout)))
    const settle = () => {
      clearConnect()
      clearHeaders()
    }
    request.once('response', (answer) => {
      settle()
      resolve(answer)
    })
    request.once('upgrade', (_, socket) => socket.destroy())
    request.on('error', (error) => {
      settle()
      reject(error)
    })
    request.once('close', () => {
      settle()
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

/** What `fetch` was given, so that it can be sent several times: bodies are read to their end first. */
export async function readRequest(address: string | URL, init: RequestInit): Promise<ReadRequest> {
  if (!URL.canParse(`${address}`)) throw new RequestRefused('bad-url', 'what is to be asked is no address')
  const headers = new Headers(init.headers)
  for (const name of ofConnection) headers.delete(name)
  const body = await readBody(init.body, headers)
  // A packed answer could grow beyond measure while it is unpacked.
  if (!headers.has('accept-encoding')) headers.set('accept-encoding', 'identity')
  if (!headers.has('accept')) headers.set('accept', '*/*')
  const method = (init.method ?? 'GET').toUpperCase()
  const hop = { url: new URL(address), method, headers, body }
  return { hop, signal: init.signal ?? undefined, redirect: init.redirect ?? 'follow' }
}

export interface AnswerBodyOptions {
  readonly maxBytes: number
  readonly idleTimeout: number
  /** Called once, when nothing of the answer is needed any more. */
  readonly release: () => void
  /** What to say instead of an error of the socket, if the caller has left. */
  readonly reason: (error: unknown) => unknown
}

/** The bytes of an answer, taken from the socket as they are asked for, and never more than may be. */
export function answerBody(answer: IncomingMessage, options: AnswerBodyOptions): ReadableStream<Uint8Array> {
  const { maxBytes, idleTimeout, release, reason } = options
  const source = unpacked(answer)
  const chunks: AsyncIterator<Buffer> = source[Symbol.asyncIterator]()
  let length = 0

  function end(): void {
    release()
    answer.destroy()
  }

  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const clear = after(idleTimeout, () => source.destroy(new Exceeded('body', idleTimeout)))
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
          controller.error(reason(error))
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

/** A timer that may be set to infinity; gives what clears it. */
export function after(milliseconds: number, act: () => void): () => void {
  if (milliseconds >= 2 ** 31) return () => {}
  // The connection keeps the process alive, and if there is none, nothing needs to.
  const timer = setTimeout(act, milliseconds).unref()
  return () => clearTimeout(timer)
}

/** A time limit of a request, told apart by its code as those of Node are. */
export class Exceeded extends Error {
  override readonly name = 'Exceeded'
  readonly code: `ERR_${'CONNECT' | 'HEADERS' | 'BODY' | 'TOTAL'}_TIMEOUT`

  constructor(what: 'connect' | 'headers' | 'body' | 'total', milliseconds: number) {
    super(`${sayings[what]} within ${milliseconds / 1000} seconds`)
    this.code = `ERR_${what.toUpperCase() as 'CONNECT' | 'HEADERS' | 'BODY' | 'TOTAL'}_TIMEOUT`
  }
}

const sayings = {
  connect: 'there was no connection',
  headers: 'there was no answer',
  body: 'nothing more of the answer came',
  total: 'the answer was not complete',
}

function lengthOf(body: Uint8Array | undefined, method: string): Record<string, string> {
  if (body) return { 'content-length': `${body.length}` }
  return method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' }
}

/** Names only: RFC 6066 §3 has none for addresses. */
function serverNameOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host
}

function limitConnect(request: ClientRequest, milliseconds: number, isTls: boolean): () => void {
  const clear = after(milliseconds, () => request.destroy(new Exceeded('connect', milliseconds)))
  request.once('socket', (socket) => {
    // A connection that is used again is there already.
    if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', clear)
    else clear()
  })
  return clear
}

/** Of the connection, not of the message: who could set them could smuggle a second request in (RFC 9112 §11.2). */
const ofConnection = [
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
].concat(['upgrade', 'proxy-authorization', 'proxy-connection'])

async function readBody(body: BodyInit | null | undefined, headers: Headers): Promise<Uint8Array | undefined> {
  if (body === null || body === undefined) return undefined
  if (body instanceof Uint8Array) return body
  const carrier = new Response(body)
  const type = carrier.headers.get('content-type')
  if (type !== null && !headers.has('content-type')) headers.set('content-type', type)
  return typeof body === 'string' ? Buffer.from(body) : new Uint8Array(await carrier.arrayBuffer())
}

/** Nobody is asked to pack answers, but some do it all the same; the limit is for what comes out. */
function unpacked(answer: IncomingMessage): Readable {
  const unpack = decoders[answer.headers['content-encoding']?.trim().toLowerCase() ?? '']?.()
  if (!unpack) return answer
  answer.once('error', (error) => unpack.destroy(error))
  answer.once('aborted', () => unpack.destroy(Object.assign(new Error('aborted'), { code: 'ECONNRESET' })))
  return answer.pipe(unpack)
}

const decoders: Readonly<Record<string, () => ReturnType<typeof createGunzip>>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}
