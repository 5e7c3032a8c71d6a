import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { HttpError } from '../dialect.ts'
import { membersOf, readDetails, toError } from '../rpc-details.ts'
import { decodeError, kinds } from '../v0.3/errors.ts'
import { decodeHttpError as decodeNewerError } from '../v1.0/errors.ts'

/** 0.3 does not say how errors look over REST: every SDK has its own form, and newer ones that of 1.0. */
export function decodeHttpError({ status, body }: HttpError): A2AError {
  const error = membersOf(body.error)
  const { code, message, data } = body
  if (readDetails(error.details).reason !== undefined) return decodeNewerError({ status, body })
  if (typeof code === 'number' && code < 0) return decodeError({ code, message: String(message ?? ''), data })
  const named = codeOfType.get(body.type)
  if (named !== undefined) return toError(named, message, {}, body)
  return decodeNewerError({ status, body: { error: { message: message ?? null, ...error } } })
}

/** Where several errors have one type, the first one stands for all. */
const codeOfType: ReadonlyMap<unknown, ErrorCode> = new Map(
  (Object.keys(kinds) as ErrorCode[]).map((code) => [kinds[code].type, code] as const).reverse(),
)
