import { defined, isObject, type Json, type JsonObject } from '../core/base/json.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { readLimited } from '../core/http/read-limited.ts'
import { readEvents } from '../core/http/sse-reader.ts'
import { type Interface, isCurrent } from './interface.ts'
import { methodOf, type Operation, restCallOf } from './requests.ts'

/** Maximum length of an answer or an event, in bytes. */
const maxAnswer = 10 * 1024 * 1024

/** A request of the suite and the answer of the agent. */
export interface WireExchange {
  readonly method: string
  readonly url: string
  readonly sent: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed answer. Undefined if it is not JSON. */
  readonly json: unknown
  /** The id of the JSON-RPC request. */
  readonly id: Json
  /** The result of the operation: of the JSON-RPC response, or the body of a successful REST response. */
  readonly result: unknown
  /** Whether the agent answered with an error of the binding. */
  readonly isError: boolean
  /** The status of a gRPC call. Undefined if it has none. */
  readonly grpcStatus?: string | undefined
}

export interface StreamEvent {
  readonly json: unknown
  readonly result: unknown
  readonly isError: boolean
}

/** An answer that may be a stream. */
export interface OpenStream {
  readonly exchange: WireExchange
  readonly isStream: boolean
  /** The next event. Undefined if the stream has ended. */
  next(): Promise<StreamEvent | undefined>
  /** All further events until the stream ends. */
  rest(): Promise<readonly StreamEvent[]>
  close(): Promise<void>
}

export interface RequestChanges {
  /** Headers to replace. Undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  /** The id of the JSON-RPC request. */
  readonly id?: Json
  /** Members of the JSON-RPC request to replace. */
  readonly envelope?: JsonObject
}

export interface RawRequest {
  readonly method: string
  readonly path?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string | undefined>>
}

/** Speaks to one interface of an agent, by bytes that the caller controls. */
export interface Wire {
  readonly target: Interface
  /** The last exchange, which is the evidence of a violation. */
  last(): WireExchange | undefined
  call(operation: Operation, params: JsonObject, changes?: RequestChanges): Promise<WireExchange>
  open(operation: Operation, params: JsonObject, changes?: RequestChanges): Promise<OpenStream>
  raw(request: RawRequest): Promise<WireExchange>
}

export interface WireOptions {
  readonly target: Interface
  readonly fetch: Fetch
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds that one exchange may take. */
  readonly timeout: number
  readonly signal: AbortSignal
}

export function createWire({ target, fetch, headers, timeout, signal }: WireOptions): Wire {
  const isRpc = target.binding === 'JSONRPC'
  let last: WireExchange | undefined
  let number = 0

  async function request(raw: RawRequest, accept: string): Promise<{ response: Response; abort: AbortController }> {
    const abort = new AbortController()
    const all: Record<string, string | undefined> = {
      accept,
      ...defined({
        'content-type': raw.body === undefined ? undefined : isRpc ? 'application/json' : restType(target),
        'a2a-version': isCurrent(target.version) || target.version === '0.3' ? target.version : undefined,
      }),
      ...headers,
      ...raw.headers,
    }
    const response = await fetch(
      `${target.url}${raw.path ?? ''}`,
      defined({
        method: raw.method,
        headers: Object.fromEntries(
          Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
        ),
        body: raw.body,
        signal: AbortSignal.any([signal, abort.signal, AbortSignal.timeout(timeout)]),
      }),
    )
    return { response, abort }
  }

  function remember(raw: RawRequest, response: Response, text: string, id: Json): WireExchange {
    const json = parse(text)
    const isError = isRpc ? isObject(json) && 'error' in json : !response.ok
    last = {
      method: raw.method,
      url: `${target.url}${raw.path ?? ''}`,
      sent: raw.body ?? '',
      status: response.status,
      headers: response.headers,
      text,
      json,
      id,
      isError,
      result: isError ? undefined : isRpc ? (isObject(json) ? json.result : undefined) : json,
    }
    return last
  }

  function prepare(operation: Operation, params: JsonObject, changes: RequestChanges): { raw: RawRequest; id: Json } {
    number += 1
    const id = changes.id ?? `conformance-${number}`
    const named = target.tenant === undefined ? params : { tenant: target.tenant, ...params }
    const more = changes.headers && { headers: changes.headers }
    if (isRpc) {
      const method = methodOf(operation, target) ?? operation
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: named, ...changes.envelope })
      return { raw: { method: 'POST', body, ...more }, id }
    }
    const { body, ...call } = restCallOf(operation, params, target)
    const path = target.tenant === undefined ? call.path : `/${encodeURIComponent(target.tenant)}${call.path}`
    return { raw: { ...call, path, ...defined({ body: body && JSON.stringify(body) }), ...more }, id }
  }

  async function exchange(raw: RawRequest, id: Json): Promise<WireExchange> {
    const { response } = await request(raw, 'application/json, application/a2a+json')
    return remember(raw, response, await readText(response), id)
  }

  return {
    target,
    last: () => last,
    raw: (raw) => exchange(raw, null),
    async call(operation, params, changes = {}) {
      const { raw, id } = prepare(operation, params, changes)
      return await exchange(raw, id)
    },
    async open(operation, params, changes = {}) {
      const { raw, id } = prepare(operation, params, changes)
      const { response, abort } = await request(raw, 'text/event-stream')
      const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
      if (!isStream || !response.body) {
        const answer = remember(raw, response, await readText(response), id)
        return { exchange: answer, isStream, next: async () => undefined, rest: async () => [], async close() {} }
      }
      const opened = remember(raw, response, '', id)
      const events = readEvents(response.body, { limit: maxAnswer, idle: timeout, signal: abort.signal })
      const next = async () => {
        const { value, done } = await events.next()
        if (done) return undefined
        const json = parse(value.data)
        const isError = isObject(json) && 'error' in json
        last = { ...opened, text: value.data, json }
        return { json, isError, result: isRpc ? (isObject(json) ? json.result : undefined) : json }
      }
      return {
        exchange: opened,
        isStream,
        next,
        async rest() {
          const all: StreamEvent[] = []
          for (let event = await next(); event; event = await next()) all.push(event)
          return all
        },
        async close() {
          await events.return()
          abort.abort()
        },
      }
    },
  }
}

function restType({ version }: Interface): string {
  return isCurrent(version) ? 'application/a2a+json' : 'application/json'
}

async function readText(response: Response): Promise<string> {
  return new TextDecoder().decode(await readLimited(response.body, maxAnswer))
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
