import type { ServerResponse } from 'node:http'
import type { TLSSocket } from 'node:tls'
import type { Incoming } from '../http/exchange.ts'
import { type ParsedRequest, readBody } from './body.ts'

/** A request, also as Express and its kin hand it on. */
export interface MountedRequest extends ParsedRequest {
  /** The path under which the listener is mounted; `url` has it no more. */
  readonly baseUrl?: string
}

/**
 * A view of a Node request: nothing is created before it is asked for. A class, because the getter in an object literal
 * would cost the engine a new hidden class per request, and that a fifth of its time.
 */
export class NodeIncoming implements Incoming {
  readonly method: string
  readonly path: string
  readonly query: string
  readonly base: string
  readonly secure: boolean
  readonly header: Incoming['header']
  readonly bytes: Incoming['bytes']
  readonly #response: ServerResponse
  #signal: AbortSignal | undefined

  constructor(request: MountedRequest, response: ServerResponse) {
    const target = originForm(request.url ?? '/')
    const mark = target.indexOf('?')
    this.method = request.method ?? 'GET'
    this.path = mark < 0 ? target : target.slice(0, mark)
    this.query = mark < 0 ? '' : target.slice(mark + 1)
    this.base = request.baseUrl ?? ''
    this.secure = (request.socket as TLSSocket).encrypted === true
    this.header = (name) => {
      const value = request.headers[name]
      return Array.isArray(value) ? value.join(', ') : value
    }
    this.bytes = (limit) => readBody(request, limit)
    this.#response = response
  }

  get signal(): AbortSignal {
    this.#signal ??= signalOf(this.#response)
    return this.#signal
  }
}

/** RFC 9112 §3.2.2: a server must accept the absolute form of a target, although it is meant for proxies. */
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
