import { defined } from '../core/base/json.ts'
import { readTrace } from '../core/base/trace-context.ts'
import { BodyTooLarge, type Exchange, type Outgoing } from '../core/http/exchange.ts'
import { isJson } from '../core/http/json.ts'
import { defaultMaxBytes, payloadTooLarge } from './envelope-codec.ts'
import { httpStatusOf, MeshError, type StandardCode } from './errors.ts'
import type { MeshPeerOptions } from './options.ts'
import type { MeshReply, Receive } from './receive.ts'

export interface MeshExchangeOptions extends Pick<MeshPeerOptions, 'maxBytes' | 'documentationUrl'> {}

/** Accepts one envelope per `POST`, at the path where it is mounted; the HTTP response carries the answer. */
export function createMeshExchange(
  receive: Receive,
  { maxBytes = defaultMaxBytes, documentationUrl }: MeshExchangeOptions = {},
): Exchange {
  const plainError = ({ code, message }: MeshError): Outgoing => {
    const url = documentationUrl?.(code as StandardCode)
    const error = defined({ code, message, documentation_url: url })
    return toOutgoing({ status: httpStatusOf(code), text: JSON.stringify({ error }) })
  }
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

function toOutgoing({ status, text, retryAfter }: MeshReply): Outgoing {
  const wait = retryAfter === undefined ? undefined : { 'retry-after': String(retryAfter) }
  if (text === undefined) return { status, headers: { ...wait } }
  return { status, headers: { 'content-type': 'application/json', ...wait }, body: text }
}
