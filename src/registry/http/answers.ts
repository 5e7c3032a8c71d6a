import { defined } from '../../core/base/json.ts'
import type { Incoming, Outgoing } from '../../core/http/exchange.ts'
import { etagOf, matchesEtag } from '../../core/http/response-headers.ts'
import { A2AError, type ErrorCode, StoreUnavailable } from '../../core/protocol/errors.ts'
import { publicMessage } from '../conformance.ts'

/** A response with an ETag; 304 if the client already has it. */
export function taggedResponse(incoming: Incoming, body: unknown, headers: Headers = {}): Outgoing {
  const text = JSON.stringify(body)
  const etag = etagOf(text)
  const tagged = { etag, 'cache-control': 'no-cache', ...headers }
  if (matchesEtag(incoming.header('if-none-match'), etag)) return { status: 304, headers: tagged }
  return { status: 200, headers: { 'content-type': 'application/json', ...tagged }, body: text }
}

/** The response to a request that failed. Throws anything but an `A2AError` again: it is a bug, and its text stays private. */
export function toErrorResponse(error: unknown): Outgoing {
  if (!(error instanceof A2AError)) throw error
  const isOurs = error.reason === 'registry-full' || error instanceof StoreUnavailable
  // Other codes describe the agent that the caller wants to add, not this server.
  const code = isOurs ? 503 : (httpCodes[error.code] ?? 422)
  return errorResponse(
    code,
    publicMessage(error),
    defined({
      'www-authenticate': error.challenge,
      'retry-after': isOurs ? String(error.retryAfter ?? 60) : undefined,
    }),
  )
}

/** An error in the HTTP form of A2A 1.0 (§11.6). */
export function errorResponse(code: number, message: string, headers?: Headers): Outgoing {
  return jsonResponse(code, { error: { code, status: statusNames[code], message } }, headers)
}

export function jsonResponse(status: number, body: unknown, headers: Headers = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
}

type Headers = Readonly<Record<string, string>>

const statusNames: Readonly<Record<number, string>> = {
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

const httpCodes: Readonly<Partial<Record<ErrorCode, number>>> = {
  'invalid-params': 400,
  unauthenticated: 401,
  forbidden: 403,
  conflict: 409,
  'payload-too-large': 413,
}
