import { readTrace } from '../base/trace-context.ts'
import { BodyTooLarge, type Exchange, type Outgoing } from '../http/exchange.ts'
import { isJson } from '../http/json.ts'
import { defaultMaxBytes, tooLarge } from './envelope-codec.ts'
import { httpStatusOf, MeshError } from './errors.ts'
import type { MeshReply, Receive } from './receive.ts'

export interface MeshExchangeOptions {
  readonly maxBytes?: number
}

/** One envelope per `POST`, at whatever path this is mounted; the answer comes with the response. */
export function createMeshExchange(
  receive: Receive,
  { maxBytes = defaultMaxBytes }: MeshExchangeOptions = {},
): Exchange {
  return async (incoming) => {
    if (incoming.method !== 'POST') {
      const answer = plain(new MeshError('METHOD_NOT_ALLOWED', 'Envelopes are sent by POST.'))
      return { ...answer, headers: { ...answer.headers, allow: 'POST' } }
    }
    if (!isJson(incoming.header('content-type'))) {
      return plain(new MeshError('INVALID_MESSAGE', 'An envelope is sent as application/json.'))
    }
    let bytes: Uint8Array
    try {
      bytes = await incoming.bytes(maxBytes)
    } catch (error) {
      if (error instanceof BodyTooLarge) return plain(tooLarge(maxBytes))
      throw error
    }
    const trace = readTrace(incoming.header('traceparent'), () => incoming.header('tracestate'))
    return toOutgoing(await receive(bytes, trace))
  }
}

function plain({ code, message }: MeshError): Outgoing {
  return toOutgoing({ status: httpStatusOf(code), text: JSON.stringify({ error: { code, message } }) })
}

function toOutgoing({ status, text, retryAfter }: MeshReply): Outgoing {
  const wait = retryAfter === undefined ? undefined : { 'retry-after': String(retryAfter) }
  if (text === undefined) return { status, headers: { ...wait } }
  return { status, headers: { 'content-type': 'application/json', ...wait }, body: text }
}
