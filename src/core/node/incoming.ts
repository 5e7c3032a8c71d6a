import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { TLSSocket } from 'node:tls'
import { BodyConsumed, BodyTooLarge, type PeerCertificate } from '../http/exchange.ts'
import { JsonError } from '../http/json.ts'
import { type LargeResponse, type Load, Overloaded } from '../http/load.ts'
import type { RequestFault } from './refuse-request.ts'

/** A request as Express and similar frameworks pass it on. */
export interface ExpressRequest extends IncomingMessage {
  /** What a body parser such as `express.json()` made of the body. */
  readonly body?: unknown
  /** The path at which the listener is mounted. `url` no longer contains it. */
  readonly baseUrl?: string
}

/** A request as a framework passes it on. */
export interface PassedRequest {
  /** The target of the request, without `base`. */
  readonly url: string | undefined
  /** The path at which the framework has mounted the agent. */
  readonly base: string
  /** What a body parser made of the body: its value, its text or its bytes. */
  readonly body?: unknown
  /** The body, where the framework has put another stream in place of the request. */
  readonly source?: Readable
  /** Called before the response is written. */
  readonly onResponse?: () => void
}

/** Bodies up to this length mostly arrive together with their headers. In bytes. */
const shortBody = 16 * 1024

/** Counts the body bytes of a request against the load of the server. */
export interface BodyBudget {
  /** False if the server has no room for these bytes. */
  take(bytes: number): boolean
}

/** Reads the body of a request, or encodes what a body parser made of it. */
export function readBody(
  request: ExpressRequest,
  limit: number,
  budget: BodyBudget,
  passed?: PassedRequest,
): Promise<Uint8Array> {
  const length = Number(request.headers['content-length'])
  if (length > limit) return Promise.reject(new BodyTooLarge(limit))
  const source = passed?.source ?? request
  if (!source.readableDidRead) {
    if (source.destroyed) return Promise.reject(callerLeft())
    // A long body is read from its first byte on, so that the first callers are not refused for the sake of later ones.
    return (length <= shortBody ? readSource : collectBody)(source, limit, budget, 'error')
  }
  return encodeParsed(passed ? passed.body : (rawBodyOf(request) ?? request.body), request, limit)
}

/** The bytes that a body parser has read: NestJS and Google Cloud Functions keep them. */
function rawBodyOf(request: object): unknown {
  return 'rawBody' in request ? request.rawBody : undefined
}

/** The bytes of a body that a body parser has read. */
async function encodeParsed(body: unknown, { headers }: IncomingMessage, limit: number): Promise<Uint8Array> {
  if (body === undefined) {
    if (headers['transfer-encoding'] === undefined && !Number(headers['content-length'])) return new Uint8Array()
    throw new BodyConsumed()
  }
  const bytes = body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : stringify(body))
  if (bytes.length > limit) throw new BodyTooLarge(limit)
  return bytes
}

function stringify(body: unknown): string {
  try {
    return JSON.stringify(body)
  } catch (cause) {
    if (cause instanceof RangeError) throw new JsonError('nested too deeply')
    throw new BodyConsumed({ cause })
  }
}

/**
 * Reads a short body without listeners, and any other one as it arrives. V8 may take the objects of a listener for
 * long-lived ones when the server starts under load: it then creates them in the old generation, where they keep their
 * requests alive until the next full collection.
 */
export function readSource(
  source: Readable,
  limit: number,
  budget: BodyBudget,
  goneEvent: GoneEvent,
): Promise<Uint8Array> {
  return arrivedBytes(source).then((arrived) => {
    const bytes = arrived ?? new Uint8Array()
    if (source.readableAborted || ('aborted' in source && source.aborted)) throw callerLeft()
    if (!source.readableEnded) {
      if (bytes.length > 0) source.unshift(bytes)
      return collectBody(source, limit, budget, goneEvent)
    }
    const hasRoom = budget.take(bytes.length)
    if (bytes.length > limit) throw new BodyTooLarge(limit)
    if (!hasRoom) throw new Overloaded()
    return bytes
  })
}

/** How a caller that disconnects is noticed: by `error` in HTTP/1.1, and by `aborted` in HTTP/2, where the stream also ends. */
type GoneEvent = 'error' | 'aborted'

/** Reads a whole body. Past `limit`, or when the budget is used up, it stops reading and keeps nothing. */
function collectBody(source: Readable, limit: number, budget: BodyBudget, goneEvent: GoneEvent): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const take = (chunk: Uint8Array): void => {
      length += chunk.length
      chunks.push(chunk)
      const hasRoom = budget.take(chunk.length)
      if (length <= limit && hasRoom) return
      chunks.length = 0
      source.off('data', take).pause()
      reject(length > limit ? new BodyTooLarge(limit) : new Overloaded())
    }
    source.on('data', take)
    source.once('end', () => {
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)
      defer(() => resolve(bytes))
    })
    source.once(goneEvent, (error: unknown = callerLeft()) => reject(error))
  })
}

/** Counts what a request holds in the load of its server, from its body until its response has ended. */
export class CountedRequest implements BodyBudget {
  readonly #load: Load | undefined
  /** The bytes of the body that count in the load. */
  #taken = 0
  #releases: Set<() => void> | undefined

  constructor(load: Load | undefined) {
    this.#load = load
  }

  take(bytes: number): boolean {
    this.#taken += bytes
    return this.#load?.take(bytes) ?? true
  }

  reserve(response: LargeResponse, caller: string): (() => void) | undefined {
    if (!this.#load) return () => {}
    const release = this.#load.reserve(response, caller)
    if (!release) return undefined
    this.#releases ??= new Set()
    return releaseOnce(release, this.#releases)
  }

  /** The response has ended: nothing of the request counts in the load any more. */
  end(): void {
    this.#load?.end(this.#taken)
    for (const release of this.#releases ?? []) release()
  }
}

/** Keeps a release function among those of a request until it is called, by the response or at its end. */
function releaseOnce(release: () => void, pending: Set<() => void>): () => void {
  const finish = (): void => {
    if (pending.delete(finish)) release()
  }
  pending.add(finish)
  return finish
}

function callerLeft(): Error {
  return new Error('the caller left before its body had come')
}

/**
 * Runs work in the next iteration of the event loop, together with all other deferred work. Requests that arrived
 * together are processed side by side, step by step, which keeps the code of each step warm.
 */
function defer(work: () => void): void {
  if (deferred.push(work) === 1) setImmediate(runDeferred)
}

/**
 * The bytes of a body that have arrived by the next iteration of the event loop. If they are the whole body,
 * `readableEnded` is true then: a short body needs no listeners.
 */
function arrivedBytes(source: Readable): Promise<Uint8Array | null> {
  // The promise settles after the tick in which the source ends.
  return new Promise((resolve) => defer(() => resolve(source.read())))
}

/**
 * Resolves in the next iteration of the event loop. Responses that wait for it leave in as few writes as there are
 * connections.
 */
export function nextIteration(): Promise<void> {
  upcoming ??= new Promise((resolve) => {
    defer(() => {
      upcoming = undefined
      resolve()
    })
  })
  return upcoming
}

const deferred: (() => void)[] = []

let upcoming: Promise<void> | undefined

function runDeferred(): void {
  for (const work of deferred.splice(0)) work()
}

/**
 * Finds what a proxy in front of the server may have understood differently, in a request that Node accepts. RFC 9112
 * §3.2 (one `Host`), §6.1 (no unknown transfer coding, none in HTTP/1.0), §2.3 (no other version).
 */
export function ambiguityIn({
  rawHeaders,
  httpVersionMajor,
  httpVersionMinor,
}: IncomingMessage): RequestFault | undefined {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      if (httpVersionMinor === 0) return { code: 'OLD_TRANSFER_ENCODING' }
      if (rawHeaders[at + 1]?.toLowerCase() !== 'chunked') return { code: 'OTHER_TRANSFER_ENCODING' }
    }
  }
  if (httpVersionMajor !== 1) return { code: 'OTHER_VERSION' }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0) ? undefined : { code: 'NOT_ONE_HOST' }
}

/** Every received value of a header, joined with a comma. Names and values alternate in `raw`. */
export function joinedHeader(raw: readonly string[], name: string): string | undefined {
  let joined: string | undefined
  for (let at = 0; at + 1 < raw.length; at += 2) {
    if (raw[at]?.length !== name.length || raw[at]?.toLowerCase() !== name) continue
    joined = joined === undefined ? raw[at + 1] : `${joined}, ${raw[at + 1]}`
  }
  return joined
}

export function byteLength(body: string | readonly string[]): number {
  if (typeof body === 'string') return Buffer.byteLength(body)
  return body.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}

/** RFC 9110 §8.6: responses with these statuses have no `Content-Length`. */
export function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

/** The certificate that the caller presented, if the connection is encrypted and there was one. */
export function certificateOf(socket: Socket | TLSSocket | undefined): PeerCertificate | undefined {
  // HTTP/2 has a proxy for the socket: its members can be read, but `in` does not see them.
  if (!socket || !isTls(socket)) return undefined
  const certificate = socket.getPeerCertificate()
  // Node returns an empty object if there was none.
  if (!certificate?.raw) return undefined
  return {
    isTrusted: socket.authorized,
    subject: distinguishedName(certificate.subject as Readonly<Record<string, string | string[]>>),
    names: alternativeNames(certificate.subjectaltname ?? ''),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
    expires: Date.parse(certificate.valid_to),
  }
}

function isTls(socket: Socket | TLSSocket): socket is TLSSocket {
  return (socket as TLSSocket).encrypted === true
}

/** In the order of the certificate, with special characters escaped (RFC 4514 §2.4). */
function distinguishedName(subject: Readonly<Record<string, string | string[]>> = {}): string {
  const attributes = Object.entries(subject).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}=${value.replace(/[\\",+;<>=]|^[ #]| $/g, '\\$&')}`),
  )
  return attributes.join(',')
}

/** Reads `DNS:a, URI:spiffe://b/c`. Node quotes ambiguous values as in JSON. */
function alternativeNames(text: string): Record<string, readonly string[]> {
  const names: Record<string, string[]> = {}
  const entry = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y
  for (let match = entry.exec(text); match; match = entry.exec(text)) {
    const [, kind = '', value = ''] = match
    names[kind] ??= []
    names[kind].push(value.startsWith('"') ? (JSON.parse(value) as string) : value)
    if (entry.lastIndex >= text.length) return names
  }
  // A text that cannot be parsed to its end yields no names at all.
  return text === '' ? names : {}
}
