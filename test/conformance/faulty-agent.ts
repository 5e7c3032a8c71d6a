import { methodOf, type Operation } from '../../src/conformance/requests.ts'
import type { ReceivedWebhook } from '../../src/conformance/session.ts'
import { createEventParser } from '../../src/core/http/sse-reader.ts'

// biome-ignore lint/suspicious/noExplicitAny: faults change the members that they name.
export type Json = any

export interface Call {
  readonly operation: Operation | 'card' | undefined
  readonly isRpc: boolean
  readonly isGrpc?: boolean
  readonly headers: Headers
  readonly url: URL
  /** The id of the task in the path. */
  readonly pathId: string | undefined
  /** The JSON-RPC request, or the body of the REST request. */
  body: Json
  /** The params of either binding. Changes of them are sent. */
  params: Json
}

export interface Answer {
  status: number
  readonly headers: Headers
  /** Only of gRPC. */
  readonly trailers?: Headers
  json: Json
}

/** A proxy that breaks one rule: what it changes in requests, answers and the events of streams. */
export interface Fault {
  /** Rules that break as well, because they are about the same. */
  readonly also?: readonly string[]
  /** The agent without streams and webhooks, with credentials and a signed card. */
  readonly agent?: 'plain'
  /** The path of the card. */
  readonly path?: string
  request?(call: Call): void
  answer?(answer: Answer, call: Call): void
  /** The results that are sent instead of one event. */
  event?(envelope: Json, index: number, call: Call): readonly Json[]
  /** What arrives at a webhook. Undefined loses it. */
  webhook?(delivery: ReceivedWebhook): ReceivedWebhook | undefined
}

type Handle = (request: Request) => Promise<Response>

/** A `fetch` that reaches the agent through a proxy with a fault. */
export function faultyFetch(handle: Handle, fault: Fault): (url: string, init: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const call = readCall(new URL(url), init)
    fault.request?.(call)
    const response = await handle(toRequest(init, call))
    if (/^text\/event-stream/.test(response.headers.get('content-type') ?? '') && response.body) {
      const answer: Answer = { status: response.status, headers: new Headers(response.headers), json: undefined }
      fault.answer?.(answer, call)
      const body = fault.event ? response.body.pipeThrough(changeEvents(fault.event, call)) : response.body
      return new Response(body, answer)
    }
    const text = await response.text()
    const answer: Answer = { status: response.status, headers: new Headers(response.headers), json: parse(text) }
    answer.headers.delete('content-length')
    fault.answer?.(answer, call)
    const isEmpty = answer.status === 304 || answer.status === 204
    return new Response(isEmpty ? null : answer.json === undefined ? text : JSON.stringify(answer.json), answer)
  }
}

export const operations = [
  ...(['send', 'stream', 'get', 'list', 'cancel', 'subscribe', 'extended-card'] as const),
  ...(['push-create', 'push-get', 'push-list', 'push-delete'] as const),
]

function readCall(url: URL, init: RequestInit): Call {
  const headers = new Headers(init.headers)
  const body = typeof init.body === 'string' ? parse(init.body) : undefined
  const isRpc = body?.jsonrpc !== undefined || (init.method === 'POST' && url.pathname === '/')
  if (isRpc)
    return {
      operation: rpcOperation(body?.method),
      isRpc,
      headers,
      url,
      pathId: undefined,
      body,
      params: body?.params ?? {},
    }
  const operation = restOperation(init.method ?? 'GET', url.pathname)
  const [, id] = /\/tasks\/([^/:]+)/.exec(url.pathname) ?? []
  const [, configId] = /\/pushNotificationConfigs\/([^/]+)/.exec(url.pathname) ?? []
  const ids = configId ? { taskId: id, id: configId } : operation === 'push-list' ? { taskId: id } : { id }
  const query = Object.fromEntries(url.searchParams)
  return { operation, isRpc, headers, url, pathId: id, body, params: body ?? { ...ids, ...query } }
}

function rpcOperation(method: unknown): Operation | undefined {
  const versions = ['1.0', '0.3', '0.1'] as const
  return operations.find((operation) =>
    versions.some((version) => methodOf(operation, { version, binding: 'JSONRPC', url: '' }) === method),
  )
}

function restOperation(method: string, path: string): Call['operation'] {
  if (path.endsWith('.json')) return 'card'
  if (path.endsWith('/message:send')) return 'send'
  if (path.endsWith('/message:stream')) return 'stream'
  if (path.endsWith(':cancel')) return 'cancel'
  if (path.endsWith(':subscribe')) return 'subscribe'
  if (/\/(extendedAgentCard|card)$/.test(path)) return 'extended-card'
  if (/pushNotificationConfigs$/.test(path)) return method === 'POST' ? 'push-create' : 'push-list'
  if (/pushNotificationConfigs\//.test(path)) return method === 'DELETE' ? 'push-delete' : 'push-get'
  if (/\/tasks$/.test(path)) return 'list'
  return /\/tasks\/[^/]+$/.test(path) ? 'get' : undefined
}

function toRequest(init: RequestInit, { isRpc, url, body, params, headers }: Call): Request {
  if (!isRpc && body === undefined) {
    for (const name of [...url.searchParams.keys()]) if (!(name in params)) url.searchParams.delete(name)
  }
  const text = body === undefined ? init.body : JSON.stringify(isRpc ? { ...body, params } : params)
  // A body that is not JSON is sent as it is, and a request without params stays without.
  const isUntouched = body === undefined || (isRpc && body.params === undefined)
  return new Request(url, { ...init, headers, body: (isUntouched ? init.body : text) ?? null })
}

function changeEvents(change: NonNullable<Fault['event']>, call: Call): ReadableWritablePair {
  const read = createEventParser(1_000_000)
  const decoder = new TextDecoder()
  const encoder = new TextEncoder()
  let index = 0
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      for (const { data } of read(decoder.decode(chunk, { stream: true }))) {
        for (const event of change(JSON.parse(data), index, call)) {
          controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`))
        }
        index += 1
      }
    },
  })
}

function parse(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
