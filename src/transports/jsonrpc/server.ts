import {
  isStream,
  type RequestOf,
  type ResultOf,
  type ServerDialect,
  type StreamOperation,
  type UnaryOperation,
} from '../../dialects/dialect.ts'
import { type MissingVersion, negotiate, newest, operationOf } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, sseHeaders } from '../../http/sse.ts'
import { withFirst } from '../../http/with-first.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Json, Principal } from '../../protocol/model.ts'
import type { Call, Service } from '../../protocol/service.ts'
import { idempotencyKeyOf, resumePointOf, versionOf } from '../service-parameters.ts'
import { callerError } from './caller-error.ts'
import { failureText, type RequestId, readCall, readEnvelope, readId, successText } from './envelope.ts'
import { eventTexts } from './event-texts.ts'
import { httpStatus } from './http-status.ts'
import { readBody } from './read-body.ts'

export interface JsonRpcLimits {
  /** Bytes of a request. 10 MiB by default. */
  readonly bodyLimit?: number
  /** How many lists and objects may lie in each other. 64 by default. */
  readonly jsonDepth?: number
  /** Milliseconds of silence after which a stream says that it is still there. 15 seconds by default. */
  readonly heartbeat?: number
}

export interface JsonRpcOptions extends JsonRpcLimits {
  readonly service: Service
  /** `infer` by default. */
  readonly missingVersion?: MissingVersion
  /** Gets what must not be shown to a caller. */
  readonly onError: (error: unknown) => void
}

/** Answers one POST. It never throws: whatever goes wrong is an answer. */
export type JsonRpc = (incoming: Incoming, principal: Principal) => Promise<Outgoing>

export function createJsonRpc(options: JsonRpcOptions): JsonRpc {
  const { service, missingVersion = 'infer', onError } = options
  const { bodyLimit = 10 * 2 ** 20, jsonDepth = 64, heartbeat = 15_000 } = options

  return async (incoming, principal) => {
    const { signal } = incoming
    let id: RequestId = null
    let dialect = newest
    try {
      const envelope = readEnvelope(await readBody(incoming, { bodyLimit, jsonDepth }))
      id = readId(envelope)
      const { method, params } = readCall(envelope)
      dialect = negotiate({ version: versionOf(incoming), method, missingVersion })
      const operation = operationOf(dialect, method)
      const call: Call = { principal, signal, idempotencyKey: idempotencyKeyOf(incoming) }

      if (!isStream(operation)) {
        const result = await answer(service, operation, { dialect, params, call })
        return { status: 200, headers: jsonHeaders, body: successText(id, result) }
      }
      const request = { ...dialect.decodeRequest[operation](params), after: resumePointOf(incoming) }
      const events = openStream(service, operation, request, call)
      const texts = await withFirst(eventTexts(events, { id, dialect, request, signal, onError }))
      return { status: 200, headers: sseHeaders, body: eventStream(texts, { heartbeat, signal }) }
    } catch (error) {
      return refusal(id, dialect, callerError(error, { signal, onError }))
    }
  }
}

const jsonHeaders = { 'content-type': 'application/json' }

interface Received {
  readonly dialect: ServerDialect
  readonly params: unknown
  readonly call: Call
}

type Unary = { readonly [O in UnaryOperation]: (request: RequestOf<O>, call: Call) => Promise<ResultOf<O>> }

async function answer<O extends UnaryOperation>(
  service: Unary,
  operation: O,
  { dialect, params, call }: Received,
): Promise<Json> {
  const request = dialect.decodeRequest[operation](params)
  const result = await service[operation](request, call)
  return dialect.encodeResult[operation](result, request)
}

type Streams = { readonly [O in StreamOperation]: (request: RequestOf<O>, call: Call) => AsyncGenerator<StreamEvent> }

function openStream<O extends StreamOperation>(
  service: Streams,
  operation: O,
  request: RequestOf<O>,
  call: Call,
): AsyncGenerator<StreamEvent> {
  return service[operation](request, call)
}

function refusal(id: RequestId, dialect: ServerDialect, error: A2AError): Outgoing {
  const { code, retryAfter } = error
  return {
    status: httpStatus[code],
    headers: retryAfter === undefined ? jsonHeaders : { ...jsonHeaders, 'retry-after': `${Math.ceil(retryAfter)}` },
    body: failureText(id, dialect.encodeError(error)),
  }
}
