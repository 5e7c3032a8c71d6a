import type { JsonObject } from '../protocol/model.ts'
import type { WireError } from './dialect.ts'
import { membersOf } from './rpc-details.ts'

/** The error of JSON-RPC in the body of an answer: where JSON-RPC has it, or bare, as some tell it over REST. */
export function wireErrorIn(body: JsonObject): WireError | undefined {
  return asWireError(membersOf(body.error)) ?? asWireError(body)
}

/** Its numbers are negative: others are statuses of HTTP. */
function asWireError({ code, message, data }: JsonObject): WireError | undefined {
  if (typeof code !== 'number' || code >= 0) return undefined
  return { code, message: typeof message === 'string' ? message : '', data }
}
