import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { BodyTooLarge, type Incoming, type PeerCertificate } from '../http/exchange.ts'
import { type Load, Overloaded } from '../http/load.ts'

let nextOne: Promise<void> | undefined

/** The next turn of the event loop. Answers that wait for it leave in as few writes as there are connections. */
export function nextTurn(): Promise<void> {
  nextOne ??= new Promise((resolve) => {
    defer(() => {
      nextOne = undefined
      resolve()
    })
  })
  return nextOne
}

/** Whether there is room for more bytes. */
export interface Room {
  take(bytes: number): boolean
}

export interface ParsedRequest extends IncomingMessage {
  /** What a body parser in front of us, such as `express.json()`, made of the body. */
  readonly body?: unknown
}

/** A request, also as Express and its kin hand it on. */
export interface MountedRequest extends ParsedRequest {
  /** The path under which the listener is mounted; `url` has it no more. */
  readonly baseUrl?: string
}

/**
 * A view of a Node request: nothing is created before it is asked for. A class, because the getter in an object literal
 * would cost the engine a new hidden class per request, and that a fifth of its time.
 */
export class NodeIncoming implements Incoming, Room {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly base: string
  readonly secure: boolean
  readonly header: Incoming['header']
  readonly bytes: Incoming['bytes']
  readonly #request: MountedRequest
  readonly #response: ServerResponse
  readonly #load: Load | undefined
  /** Bytes of the body that are counted in the load. */
  taken = 0
  #signal: AbortSignal | undefined

  constructor(request: MountedRequest, response: ServerResponse, load?: Load) {
    const { url = '/' } = request
    const host = url.startsWith('/') ? undefined : hostIn(url)
    const target = originForm(url)
    const mark = target.indexOf('?')
    this.method = request.method ?? 'GET'
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
    this.base = request.baseUrl ?? ''
    this.secure = (request.socket as TLSSocket).encrypted === true
    this.header = (name) => {
      // Node keeps only the first of several; somebody else may have looked at another one.
      if (name === 'authorization') return allOf(request.rawHeaders, name)
      if (name === 'host' && host !== undefined) return host
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    }
    this.bytes = (limit) => readBody(request, limit, this)
    this.#request = request
    this.#response = response
    this.#load = load
  }

  take(bytes: number): boolean {
    this.taken += bytes
    return this.#load?.take(bytes) ?? true
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response)
    return this.#signal
  }

  certificate(): PeerCertificate | undefined {
    return certificateOf(this.#request.socket)
  }
}

/**
 * Runs it in the next turn of the event loop, together with whatever else was due then. Requests that came together are
 * so worked on side by side, step by step, which keeps the code of each step warm.
 */
export function defer(work: () => void): void {
  if (due.push(work) === 1) setImmediate(runDue)
}

/** Every value of a header that came, joined with a comma. Names and values take turns in the list. */
export function allOf(raw: readonly string[], name: string): string | undefined {
  const values = raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name)
  return values.length === 0 ? undefined : values.join(', ')
}

/** The certificate that a caller showed on its connection, if it is encrypted and it did. */
export function certificateOf(socket: Socket | TLSSocket | undefined): PeerCertificate | undefined {
  // HTTP/2 has a stand-in for the socket, which knows its members but not that they are `in` it.
  if (!socket || !isTls(socket)) return undefined
  const shown = socket.getPeerCertificate()
  // Without one there is an empty object.
  if (!shown?.raw) return undefined
  return {
    isTrusted: socket.authorized,
    subject: distinguishedName(shown.subject as Readonly<Record<string, string | string[]>>),
    names: alternativeNames(shown.subjectaltname ?? ''),
    fingerprint: shown.fingerprint256.replaceAll(':', '').toLowerCase(),
    expires: Date.parse(shown.valid_to),
  }
}

const due: (() => void)[] = []

function runDue(): void {
  for (const work of due.splice(0)) work()
}

function isTls(socket: Socket | TLSSocket): socket is TLSSocket {
  return (socket as TLSSocket).encrypted === true
}

/** In the order of the certificate, with what has a meaning in such a name escaped (RFC 4514 §2.4). */
function distinguishedName(subject: Readonly<Record<string, string | string[]>> = {}): string {
  const attributes = Object.entries(subject).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}=${value.replace(/[\\",+;<>=]|^[ #]| $/g, '\\$&')}`),
  )
  return attributes.join(',')
}

/** `DNS:a, URI:spiffe://b/c`. Values that could be mistaken for more than one are quoted as in JSON. */
function alternativeNames(text: string): Record<string, readonly string[]> {
  const names: Record<string, string[]> = {}
  const entry = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/y
  for (let match = entry.exec(text); match; match = entry.exec(text)) {
    const [, kind = '', value = ''] = match
    names[kind] ??= []
    names[kind].push(value.startsWith('"') ? (JSON.parse(value) as string) : value)
    if (entry.lastIndex >= text.length) return names
  }
  // What cannot be read to its end is not believed at all.
  return text === '' ? names : {}
}

/** The host in it takes the place of the header. */
function hostIn(target: string): string | undefined {
  return /^https?:\/\/([^/?]*)/i.exec(target)?.[1]
}

/** RFC 9112 §3.2.2: a server must accept the absolute form of a target, although it is meant for proxies. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const origin = target.replace(/^https?:\/\/[^/?]*/i, '')
  return origin.startsWith('/') ? origin : `/${origin}`
}

/** The whole body of a request. Past `limit`, or where there is no room, it stops reading and keeps nothing. */
function readBody(request: ParsedRequest, limit: number, room: Room): Promise<Uint8Array> {
  if (Number(request.headers['content-length']) > limit) return Promise.reject(new BodyTooLarge(limit))
  if (!request.readableDidRead) return collect(request, limit, room)
  const bytes = encodeParsed(request.body)
  return bytes.length > limit ? Promise.reject(new BodyTooLarge(limit)) : Promise.resolve(bytes)
}

function collect(request: IncomingMessage, limit: number, room: Room): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Uint8Array[] = []
    let length = 0
    const take = (chunk: Uint8Array): void => {
      length += chunk.length
      chunks.push(chunk)
      const hasRoom = room.take(chunk.length)
      if (length <= limit && hasRoom) return
      chunks.length = 0
      request.off('data', take).pause()
      reject(length > limit ? new BodyTooLarge(limit) : new Overloaded())
    }
    if (request.destroyed) reject(new Error('the caller left before its body had come'))
    request.on('data', take)
    request.once('end', () => {
      const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, length)
      defer(() => resolve(bytes))
    })
    request.once('error', reject)
  })
}

function encodeParsed(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array()
  if (body instanceof Uint8Array) return body
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
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
