import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import { firstNumbers } from '../decode-error.ts'
import type { HttpError, WireError } from '../dialect.ts'
import { fitting } from '../fitting.ts'
import { object, optional } from '../object-shape.ts'
import { toError } from '../rpc-details.ts'
import { codeOfHttpStatus } from '../rpc-status.ts'
import { json, list, map, string } from '../shape.ts'
import { wireErrorIn } from '../wire-error.ts'

export function decodeError(error: WireError): A2AError {
  const { detail = error.message, retryAfter, ...data } = fitting(Data, error.data) ?? {}
  const details = typeof retryAfter === 'number' ? { ...data, retryAfter } : data
  return toError(numbers.get(error.code) ?? 'internal', detail, details, error)
}

/** Where there is no answer of JSON-RPC, HTTP has only its status. */
export function decodeHttpError({ status, body }: HttpError): A2AError {
  const error = wireErrorIn(body)
  return error === undefined ? toError(codeOfHttpStatus(status), body.message, {}, body) : decodeError(error)
}

/** From -32006 on they mean something else in every later version. */
const numbers: ReadonlyMap<number, ErrorCode> = new Map([
  ...firstNumbers,
  [-32006, 'streaming-not-supported'],
  [-32007, 'unauthenticated'],
  [-32008, 'forbidden'],
  [-32009, 'task-ended'],
  [-32010, 'rate-limited'],
  [-32011, 'unavailable'],
])

/** Other agents put there what they like. */
const Data = object({
  detail: optional(string()),
  violations: optional(list(object({ field: string(), description: string() }))),
  metadata: optional(map(string())),
  retryAfter: optional(json()),
})
