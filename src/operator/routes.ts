import { defined, isObject, type JsonObject } from '../core/base/json.ts'
import type { Incoming, Outgoing } from '../core/http/exchange.ts'
import { isJson, parseJson } from '../core/http/json.ts'
import { eventStream, eventText, oneLine, sseHeaders } from '../core/http/sse-writer.ts'
import { ownerOf } from '../core/protocol/model.ts'
import { type Schema, Violation } from '../core/schema/schema.ts'
import type { OperatorRole } from './contract.ts'
import { invalid, notFound, OperatorFailure } from './failures.ts'
import type { OperatorSession } from './sessions.ts'

/** Answers and messages of operators may have files. In bytes. */
const bodyLimit = 10 * 2 ** 20

const heartbeat = 15_000

/** A request to the operator API whose session is known. */
export interface OperatorCall {
  readonly incoming: Incoming
  readonly session: OperatorSession
  readonly query: URLSearchParams
}

/** One operation of the API. `params` are the decoded segments of the path that start with a colon. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Such as `/tasks/:agent/:task`. */
  readonly path: string
  /** The role that the operation needs. */
  readonly role: OperatorRole
  handle(call: OperatorCall, ...params: string[]): Promise<Outgoing>
}

export interface RouteMatch {
  readonly route: Route
  readonly params: readonly string[]
}

/** Finds the route of a request. Throws if there is none. The first that matches is used. */
export function matchRoute(routes: readonly Route[], method: string, path: string): RouteMatch {
  const segments = path.split('/').map(decodeSegment)
  const atPath = routes.flatMap((route) => {
    const params = paramsOf(route.path.split('/'), segments)
    return params ? [{ route, params }] : []
  })
  if (atPath.length === 0) throw notFound('There is no operation at this path.')
  const found = atPath.find(({ route }) => route.method === method || (method === 'HEAD' && route.method === 'GET'))
  if (found) return found
  const methods = [...new Set(atPath.map(({ route }) => route.method))].join(', ')
  throw new OperatorFailure(405, 'method-not-allowed', `This operation is called by ${methods}.`)
}

export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (cause) {
    throw new OperatorFailure(400, 'invalid-params', 'The path has an invalid percent-encoding.', { cause })
  }
}

function paramsOf(pattern: readonly string[], segments: readonly string[]): readonly string[] | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: string[] = []
  for (const [index, name] of pattern.entries()) {
    const segment = segments[index] ?? ''
    if (name.startsWith(':') && segment !== '') params.push(segment)
    else if (name !== segment) return undefined
  }
  return params
}

/**
 * Answers with a stream of server-sent events, each a JSON value with an optional position. Throws if too many streams are
 * open.
 */
export function streamAnswer(
  { incoming, session }: Pick<OperatorCall, 'incoming' | 'session'>,
  values: AsyncIterable<{ readonly id?: string | number; readonly value: unknown }>,
): Outgoing {
  const { signal } = incoming
  const operator = ownerOf(session.principal)
  if ((openStreams.get(operator) ?? 0) >= maxStreams || total(openStreams) >= maxAllStreams) {
    const text = 'Too many pages follow this server just now: close one, or try again.'
    throw new OperatorFailure(429, 'rate-limited', text, { retryAfter: 5 })
  }
  async function* texts() {
    for await (const { id, value } of values) {
      yield eventText(defined({ id, data: oneLine(JSON.stringify(value)) }))
    }
  }
  return {
    status: 200,
    headers: sseHeaders,
    body: counted(eventStream(texts(), { heartbeat, signal }), operator, signal),
  }
}

/** Streams that a process serves at once, to one operator and to all: each one reads the store again and again. */
const maxStreams = 50
const maxAllStreams = 500

/** The open streams by operator. */
const openStreams = new Map<string, number>()

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0)
}

function count(operator: string, change: 1 | -1): void {
  const open = (openStreams.get(operator) ?? 0) + change
  if (open > 0) openStreams.set(operator, open)
  else openStreams.delete(operator)
}

/** Counts a stream until it ends, also if it is never read. */
function counted(
  stream: AsyncIterableIterator<string>,
  operator: string,
  signal: AbortSignal,
): AsyncIterableIterator<string> {
  let isOpen = true
  count(operator, 1)
  const release = () => {
    if (isOpen) count(operator, -1)
    isOpen = false
  }
  signal.addEventListener('abort', release, { once: true })
  if (signal.aborted) release()
  return {
    async next() {
      try {
        const result = await stream.next()
        if (result.done) release()
        return result
      } catch (error) {
        release()
        throw error
      }
    },
    async return() {
      release()
      return (await stream.return?.()) ?? { done: true, value: undefined }
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

/** Reads the JSON body of a request by its schema. A request without a body has an empty object. */
export async function readBody<T>(
  { incoming }: Pick<OperatorCall, 'incoming'>,
  schema: Schema<T>,
  limit = bodyLimit,
): Promise<T> {
  const bytes = await incoming.bytes(limit)
  return readValue(bytes.length === 0 ? {} : parseBody(incoming, bytes), schema)
}

function parseBody(incoming: Incoming, bytes: Uint8Array): JsonObject {
  if (!isJson(incoming.header('content-type'))) {
    throw new OperatorFailure(415, 'unsupported-media-type', 'Send the body as application/json.')
  }
  const value = parseJson(bytes)
  if (isObject(value)) return value as JsonObject
  throw new OperatorFailure(400, 'invalid-params', 'The body must be a JSON object.')
}

function readValue<T>(value: JsonObject, schema: Schema<T>): T {
  try {
    return schema.read(value)
  } catch (error) {
    if (error instanceof Violation) throw invalid(error.path || 'body', error.message)
    throw error
  }
}

/** An integer in the query. */
export function readInteger(query: URLSearchParams, name: string, range: IntegerRange): number {
  const text = query.get(name)
  if (text === null || text === '') return range.fallback
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (value >= range.min && value <= range.max) return value
  throw invalid(name, `expected an integer from ${range.min} to ${range.max}`)
}

interface IntegerRange {
  readonly min: number
  readonly max: number
  readonly fallback: number
}
