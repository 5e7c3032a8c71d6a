import type { ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Incoming, PeerCertificate } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import { type ParsedRequest, type Room, readBody } from './body.ts'
import { certificateOf } from './peer-certificate.ts'

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

/** Every value of a header that came, joined with a comma. Names and values take turns in the list. */
export function allOf(raw: readonly string[], name: string): string | undefined {
  const values = raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name)
  return values.length === 0 ? undefined : values.join(', ')
}

/** RFC 9112 §3.2.2: a server must accept the absolute form of a target, although it is meant for proxies. */
function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const origin = target.replace(/^https?:\/\/[^/?]*/i, '')
  return origin.startsWith('/') ? origin : `/${origin}`
}

/** The host in it takes the place of the header. */
function hostIn(target: string): string | undefined {
  return /^https?:\/\/([^/?]*)/i.exec(target)?.[1]
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
