import { readTrace } from '../base/trace-context.ts'
import { BodyTooLarge, type Exchange, type Outgoing } from '../http/exchange.ts'
import { isJson } from '../http/json.ts'
import { defaultMaxBytes, payloadTooLarge } from './envelope-codec.ts'
import { httpStatusOf, MeshError } from './errors.ts'
import type { MeshReply, Receive } from './receive.ts'

export interface MeshExchangeOptions {
  readonly maxBytes?: number
}

/** Accepts one envelope per `POST`, at the path where it is mounted; the HTTP response carries the answer. */
export function createMeshExchange(
  receive: Receive,
  { maxBytes = defaultMaxBytes }: MeshExchangeOptions = {},
): Exchange {
  return async (incoming) => {
    if (incoming.method !== 'POST') {
      const outgoing = plainError(new MeshError('METHOD_NOT_ALLOWED', 'Send envelopes by POST.'))
      return { ...outgoing, headers: { ...outgoing.headers, allow: 'POST' } }
    }
    if (!isJson(incoming.header('content-type'))) {
      return plainError(new MeshError('INVALID_MESSAGE', 'Send envelopes as application/json.'))
    }
    let bytes: Uint8Array
    try {
      bytes = await incoming.bytes(maxBytes)
    } catch (error) {
      if (error instanceof BodyTooLarge) return plainError(payloadTooLarge(maxBytes))
      throw error
    }
    const trace = readTrace(incoming.header('traceparent'), () => incoming.header('tracestate'))
    return toOutgoing(await receive(bytes, trace))
  }
}

function plainError({ code, message }: MeshError): Outgoing {
  return toOutgoing({ status: httpStatusOf(code), text: JSON.stringify({ error: { code, message } }) })
}

function toOutgoing({ status, text, retryAfter }: MeshReply): Outgoing {
  const wait = retryAfter === undefined ? undefined : { 'retry-after': String(retryAfter) }
  if (text === undefined) return { status, headers: { ...wait } }
  return { status, headers: { 'content-type': 'application/json', ...wait }, body: text }
}
