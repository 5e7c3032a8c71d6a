import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { etagOf, matches } from '../../http/response-headers.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { sayProblem } from '../conformance.ts'

/** With a tag, by which who has it already is spared it. */
export function taggedAnswer(incoming: Incoming, body: unknown, headers: Headers = {}): Outgoing {
  const text = JSON.stringify(body)
  const etag = etagOf(text)
  const about = { etag, 'cache-control': 'no-cache', ...headers }
  if (matches(incoming.header('if-none-match'), etag)) return { status: 304, headers: about }
  return { status: 200, headers: { 'content-type': 'application/json', ...about }, body: text }
}

/** What a caller is told of an error. What is no `A2AError` is a bug, and not the caller's business. */
export function refusal(error: unknown): Outgoing {
  if (!(error instanceof A2AError)) throw error
  const isFull = error.reason === 'registry-full'
  // What is wrong with an agent that somebody wants to add is not wrong with us.
  const code = isFull ? 503 : (statuses[error.code] ?? 422)
  return problem(code, sayProblem(error), {
    ...(error.challenge !== undefined && { 'www-authenticate': error.challenge }),
    ...(isFull && { 'retry-after': String(error.retryAfter ?? 60) }),
  })
}

/** In the form that A2A 1.0 gives to errors over HTTP (§11.6). */
export function problem(code: number, message: string, headers?: Headers): Outgoing {
  return jsonAnswer(code, { error: { code, status: names[code], message } }, headers)
}

export function jsonAnswer(status: number, body: unknown, headers: Headers = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

type Headers = Readonly<Record<string, string>>

const names: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  409: 'ALREADY_EXISTS',
  413: 'OUT_OF_RANGE',
  415: 'INVALID_ARGUMENT',
  422: 'FAILED_PRECONDITION',
  503: 'UNAVAILABLE',
}

const statuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  'invalid-params': 400,
  unauthenticated: 401,
  forbidden: 403,
  conflict: 409,
  'payload-too-large': 413,
}
