import type { ServerDialect } from '../../dialects/dialect.ts'
import { negotiate, operationOf } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventStream, eventText, oneLine, sseHeaders } from '../../http/sse-writer.ts'
import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import { isStream } from '../../protocol/intercept.ts'
import { anonymous } from '../../protocol/model.ts'
import { acceptsStream, namingExtensions, resumePointOf, versionOf, WireCall } from '../server/call.ts'
import { callerError, refusalHeaders } from '../server/errors.ts'
import { type Framing, openEventStream } from '../server/event-stream.ts'
import { invokeOperation, openStream } from '../server/invoke.ts'
import { limitsOf, type WireOptions } from '../server/options.ts'
import { readBody } from '../server/read-body.ts'
import {
  failureText,
  missingId,
  type RequestId,
  readCall,
  readEnvelope,
  readId,
  successStart,
  successText,
} from './envelope.ts'

const jsonHeaders = { 'content-type': 'application/json' }

/** Bytes of a call by somebody who is not let in: enough to learn in which words to say so. */
const glance = 64 * 1024

/** Answers one POST. It never throws: whatever goes wrong is an answer. */
export type JsonRpc = (incoming: Incoming) => Promise<Outgoing>

export function createJsonRpc(options: WireOptions): JsonRpc {
  const { service, principalOf, recall, onError, lenientEnvelope = false } = options
  const { bodyLimit, jsonDepth, heartbeat, clock } = limitsOf(options)

  return async (incoming) => {
    let id: RequestId = null
    let dialect = options.dialects[0]
    let awaitsStream = false
    let principal = anonymous
    try {
      const known = principalOf(incoming)
      principal = known instanceof Promise ? await known : known
    } catch (error) {
      return await rejectUnauthenticated(
        incoming,
        options,
        callerError(error, { signal: incoming.signal, onError, incoming }),
      )
    }
    try {
      const envelope = readEnvelope(await readBody(incoming, { bodyLimit, jsonDepth }))
      const given = readId(envelope)
      id = given ?? null
      const { method, params } = readCall(envelope, lenientEnvelope)
      const proposal = { version: versionOf(incoming), method, params, acceptsStream: acceptsStream(incoming) }
      const agreed = negotiate(proposal, options, (address) => recall(address, principal))
      dialect = agreed instanceof Promise ? await agreed : agreed
      if (given === undefined && !dialect.allowsMissingId && !lenientEnvelope) throw missingId()
      const operation = operationOf(dialect, proposal, options)
      awaitsStream = isStream(operation) && proposal.acceptsStream
      const call = new WireCall(incoming, principal, options)

      if (!isStream(operation)) {
        const result = await invokeOperation(service, { dialect, operation, params, call })
        return { status: 200, headers: namingExtensions(jsonHeaders, call, dialect), body: successText(id, result) }
      }
      const received = { dialect, operation, params, call }
      const { signal } = incoming
      const { events, ...opened } = openStream(service, received, { after: resumePointOf(incoming) })
      const wording = wordingOf(id, dialect)
      const texts = await openEventStream(events, {
        ...opened,
        dialect,
        wording,
        signal,
        onError,
        incoming,
        heartbeat,
        clock,
      })
      const headers = namingExtensions(sseHeaders, call, dialect)
      return { status: 200, headers, body: eventStream(texts, { heartbeat, signal, timers: clock }) }
    } catch (error) {
      const answer = errorResponse(id, dialect, callerError(error, { signal: incoming.signal, onError, incoming }))
      return awaitsStream && isOld(dialect) ? errorAsEvent(answer) : answer
    }
  }
}

/** JSON-RPC tells its errors in the body. Only what HTTP itself acts upon (proxies, retries) gets a status of its own. */
export const httpStatus: Readonly<Record<ErrorCode, number>> = {
  'parse-error': 200,
  'invalid-request': 200,
  'method-not-found': 200,
  'invalid-params': 200,
  internal: 200,
  'task-not-found': 200,
  'task-expired': 200,
  'task-not-cancelable': 200,
  'task-ended': 200,
  'push-not-supported': 200,
  'unsupported-operation': 200,
  'streaming-not-supported': 200,
  'content-type-not-supported': 415,
  'invalid-agent-response': 200,
  'extended-card-not-configured': 200,
  'extension-required': 200,
  'version-not-supported': 200,
  conflict: 200,
  'payload-too-large': 413,
  unauthenticated: 401,
  forbidden: 403,
  'rate-limited': 429,
  unavailable: 503,
  timeout: 200,
  'input-timeout': 200,
  'tool-failed': 200,
  'context-not-found': 200,
}

export type TextAnswer = Outgoing & { readonly body: string }

/** Answers who is not let in, under the id and in the dialect of the call if it is short. Nothing of it is done. */
async function rejectUnauthenticated(incoming: Incoming, options: WireOptions, error: A2AError): Promise<Outgoing> {
  let id: RequestId = null
  let dialect: ServerDialect = options.dialects[0]
  try {
    const { bodyLimit, jsonDepth } = limitsOf(options)
    const envelope = readEnvelope(await readBody(incoming, { bodyLimit: Math.min(bodyLimit, glance), jsonDepth }))
    id = readId(envelope) ?? null
    const { method, params } = readCall(envelope)
    const proposal = { version: versionOf(incoming), method, params, acceptsStream: acceptsStream(incoming) }
    dialect = await negotiate(proposal, options, async () => undefined)
  } catch {
    // It is refused in any case.
  }
  return errorResponse(id, dialect, error)
}

/** An error as the answer to a call. */
function errorResponse(id: RequestId, dialect: ServerDialect, error: A2AError): TextAnswer {
  return {
    status: httpStatus[error.code],
    headers: { ...jsonHeaders, ...refusalHeaders(error) },
    body: failureText(id, dialect.encodeError(error)),
  }
}

function wordingOf(id: RequestId, dialect: ServerDialect): Framing {
  return {
    before: successStart(id),
    after: '}',
    failure: (error) => failureText(id, dialect.encodeError(error)),
  }
}

function isOld({ version }: ServerDialect): boolean {
  return version.startsWith('0.')
}

/** SDKs before 1.0 that await a stream read no other answer, unless HTTP itself says that something is wrong. */
function errorAsEvent(answer: TextAnswer): Outgoing {
  if (answer.status !== 200) return answer
  return { status: 200, headers: sseHeaders, body: eventText({ event: 'error', data: oneLine(answer.body) }) }
}
