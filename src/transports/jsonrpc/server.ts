import { isStream, type ServerDialect } from '../../dialects/dialect.ts'
import { negotiate, operationOf } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, sseHeaders } from '../../http/sse.ts'
import { withFirst } from '../../http/with-first.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/model.ts'
import type { Call } from '../../protocol/service.ts'
import { callerError } from '../caller-error.ts'
import { eventTexts, type Wording } from '../event-texts.ts'
import { openStream, operate } from '../operate.ts'
import { limitsOf, type WireOptions } from '../options.ts'
import { readBody } from '../read-body.ts'
import { acceptsStream, idempotencyKeyOf, resumePointOf, versionOf } from '../service-parameters.ts'
import { failureText, type RequestId, readCall, readEnvelope, readId, successText } from './envelope.ts'
import { httpStatus } from './http-status.ts'

/** Answers one POST. It never throws: whatever goes wrong is an answer. */
export type JsonRpc = (incoming: Incoming, principal: Principal) => Promise<Outgoing>

export function createJsonRpc(options: WireOptions): JsonRpc {
  const { service, recall, onError } = options
  const { bodyLimit, jsonDepth, heartbeat } = limitsOf(options)

  return async (incoming, principal) => {
    const { signal } = incoming
    let id: RequestId = null
    let dialect = options.dialects[0]
    try {
      const envelope = readEnvelope(await readBody(incoming, { bodyLimit, jsonDepth }))
      id = readId(envelope)
      const { method, params } = readCall(envelope)
      const proposal = { version: versionOf(incoming), method, params, acceptsStream: acceptsStream(incoming) }
      dialect = await negotiate(proposal, options, (address) => recall(address, principal))
      const operation = operationOf(dialect, proposal, options)
      const call: Call = { principal, signal, idempotencyKey: idempotencyKeyOf(incoming) }

      if (!isStream(operation)) {
        const result = await operate(service, { dialect, operation, params, call })
        return { status: 200, headers: jsonHeaders, body: successText(id, result) }
      }
      const received = { dialect, operation, params, call }
      const { request, events } = openStream(service, received, resumePointOf(incoming))
      const wording = wordingOf(id, dialect)
      const texts = await withFirst(eventTexts(events, { dialect, request, wording, signal, onError }))
      return { status: 200, headers: sseHeaders, body: eventStream(texts, { heartbeat, signal }) }
    } catch (error) {
      return refusal(id, dialect, callerError(error, { signal, onError }))
    }
  }
}

const jsonHeaders = { 'content-type': 'application/json' }

function wordingOf(id: RequestId, dialect: ServerDialect): Wording {
  return {
    event: (wire) => successText(id, wire),
    failure: (error) => failureText(id, dialect.encodeError(error)),
  }
}

function refusal(id: RequestId, dialect: ServerDialect, error: A2AError): Outgoing {
  const { code, retryAfter } = error
  return {
    status: httpStatus[code],
    headers: retryAfter === undefined ? jsonHeaders : { ...jsonHeaders, 'retry-after': `${Math.ceil(retryAfter)}` },
    body: failureText(id, dialect.encodeError(error)),
  }
}
