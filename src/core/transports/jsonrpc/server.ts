import { isObject } from '../../base/json.ts'
import type { CallFeatures, RequestFacts, ServerDialect, WireError } from '../../dialects/dialect.ts'
import { createNegotiation, type Negotiate, operationOf } from '../../dialects/negotiate.ts'
import type { Incoming, Outgoing } from '../../http/exchange.ts'
import { eventText, oneLine, sseHeaders } from '../../http/sse-writer.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { isStream } from '../../protocol/intercept.ts'
import { anonymous } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import {
  acceptsOnlyStream,
  acceptsStream,
  errorHeaders,
  invokeForText,
  notifyOperation,
  readBody,
  readResumePoint,
  readVersion,
  toCallerError,
  WireCall,
  withDialectHeaders,
  wrongBodyReason,
} from '../server/call.ts'
import { answerStream, type Framing } from '../server/event-stream.ts'
import { minLargeLength } from '../server/large-answers.ts'
import { type WireOptions, withWireDefaults } from '../server/options.ts'

const jsonHeaders = { 'content-type': 'application/json' }

/** The answer to a notification: a call without an id. */
const noContent: Outgoing = { status: 204, headers: {} }

/** Bytes that are read of a rejected call, to answer it with its id and in its dialect. */
const rejectedBodyLimit = 64 * 1024

/** Answers one POST. It never throws: every failure is an answer. */
export type JsonRpcHandler = (incoming: Incoming) => Promise<Outgoing>

/** JSON-RPC 2.0 as A2A uses it: one call per request, always with an answer. */
export function createJsonRpc(options: WireOptions): JsonRpcHandler {
  const {
    service,
    authenticate,
    lastDialect,
    onError,
    onRejected,
    lenientEnvelope = false,
    httpErrors = false,
  } = options
  const { bodyLimit, jsonDepth, heartbeat, clock } = withWireDefaults(options)
  const negotiate = createNegotiation(options)

  return async (incoming) => {
    let principal = anonymous
    try {
      const authenticated = authenticate(incoming)
      // An `await` would cost every call, and most principals are known at once.
      principal = authenticated instanceof Promise ? await authenticated : authenticated
    } catch (error) {
      return await rejectCall(toCallerError(error, { incoming, onError, onRejected }), incoming, {
        ...options,
        negotiate,
      })
    }
    let id: RequestId = null
    let dialect = options.dialects[0]
    let isNotification = false
    let opensStream = false
    let features: CallFeatures | undefined
    let operation: Operation | undefined
    try {
      const envelope = readEnvelope(await readBody(incoming, { bodyLimit, jsonDepth }))
      const requestId = readId(envelope)
      id = requestId ?? null
      features = readFeatures(envelope, incoming, lenientEnvelope)
      const negotiated = negotiate(features, (address) => lastDialect(address, principal))
      dialect = negotiated instanceof Promise ? await negotiated : negotiated
      operation = operationOf(dialect, features, options)
      const { params } = features
      // Only the request itself shows the variant here: JSON-RPC clients write nothing else differently.
      if (dialect.callers) dialect = dialect.callers.forCaller({ userAgent: '', params }).dialect
      if (requestId === undefined && !dialect.hasNotifications && !lenientEnvelope) {
        // The official kit of 0.3 expects errors in the method and the params to be reported first.
        dialect.decodeRequest[operation](params)
        throw invalidRequest('id is missing: every request of A2A is answered.')
      }
      opensStream = isStream(operation)
      isNotification = requestId === undefined && !lenientEnvelope
      const call = new WireCall(incoming, principal, options)
      if (isNotification) {
        await notifyOperation(service, { dialect, operation, params, call })
        return noContent
      }
      if (!isStream(operation)) {
        const target = { incoming, principal }
        const result = await invokeForText(service, { dialect, operation, params, call }, { target })
        const body = successBody(id, result)
        return { status: 200, headers: withDialectHeaders(jsonHeaders, call, dialect), body }
      }
      const after = readResumePoint(incoming)
      const framing = framingFor(id, dialect, incoming)
      const stream = { incoming, onError, after, framing, heartbeat, clock }
      return await answerStream(service, { dialect, operation, params, call }, stream)
    } catch (error) {
      const failure = toCallerError(error, { incoming, onError, onRejected, operation })
      const status = httpErrors ? dialect.encodeHttpError(failure).status : undefined
      const answer = errorAnswer(id, dialect, failure, { incoming, request: features, status })
      if (answer.status !== 200) return answer
      // JSON-RPC 2.0 §4.1: the caller of a notification gets no errors.
      if (isNotification) return noContent
      return opensStream && dialect.hasErrorEvents && acceptsOnlyStream(incoming) ? errorAsEvent(answer) : answer
    }
  }
}

/** JSON-RPC puts errors into the body. Only errors that proxies and retries act upon have their own HTTP status. */
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
  'content-type-not-supported': 200,
  'invalid-agent-response': 200,
  'extended-card-not-configured': 200,
  'extension-required': 200,
  'version-not-supported': 200,
  'task-generation-mismatch': 200,
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

/** Text around the events of a stream: each is the answer to the call with that id. */
export function framingFor(id: RequestId, dialect: ServerDialect, incoming: RequestLine): Framing {
  return {
    before: successStart(id),
    after: '}',
    failure: (error) => failureText(id, encodeErrorFor(incoming, dialect, error)),
  }
}

type RequestId = string | number | null

/** What a request says about its caller before its body. */
type RequestLine = Pick<Incoming, 'header' | 'query'>

type Envelope = Readonly<Record<string, unknown>>

type TextAnswer = Outgoing & { readonly body: string }

/** Answers a call that was not authenticated, with its id and in its dialect if its body is short. */
async function rejectCall(
  error: A2AError,
  incoming: Incoming,
  options: WireOptions & { readonly negotiate: Negotiate },
): Promise<Outgoing> {
  let id: RequestId = null
  let dialect: ServerDialect = options.dialects[0]
  try {
    const { bodyLimit, jsonDepth } = withWireDefaults(options)
    const limits = { bodyLimit: Math.min(bodyLimit, rejectedBodyLimit), jsonDepth }
    const envelope = readEnvelope(await readBody(incoming, limits))
    id = readId(envelope) ?? null
    dialect = await options.negotiate(readFeatures(envelope, incoming, false), async () => undefined)
  } catch {
    // The call is rejected anyway, and this error would say less about why.
  }
  return errorAnswer(id, dialect, error, { incoming })
}

function readEnvelope(body: unknown): Envelope {
  if (Array.isArray(body)) throw invalidRequest('Batches are not part of A2A: send one request at a time.')
  if (!isObject(body)) throw invalidRequest('A JSON-RPC request is an object.')
  return body
}

/** Read first, so that errors about the rest of the call carry it. Undefined if it is missing. */
function readId({ id }: Envelope): RequestId | undefined {
  if (id === undefined || id === null || Number.isSafeInteger(id)) return id as RequestId | undefined
  // Every event of a stream repeats the id.
  if (typeof id === 'string' && id.length <= 256) return id
  throw invalidRequest('id must be a string of at most 256 characters, an integer or null.')
}

/** Reads what decides about the dialect and the operation of a call. */
function readFeatures(envelope: Envelope, incoming: Incoming, isLenient: boolean): CallFeatures {
  const { jsonrpc, method, params } = envelope
  if (isMeshEnvelope(envelope)) {
    throw invalidRequest('This is an envelope of the agent mesh, and here JSON-RPC is spoken: send it to the mesh.')
  }
  if (isBareMessage(envelope)) {
    const hint = 'send it as { jsonrpc: "2.0", id, method: "SendMessage", params: { message } }.'
    throw invalidRequest(`This is a message without a JSON-RPC request around it: ${hint}`)
  }
  if (jsonrpc !== '2.0' && !(isLenient && jsonrpc === undefined)) throw invalidRequest('jsonrpc must be "2.0".')
  if (typeof method !== 'string') throw invalidRequest('method must be a string.')
  return { version: readVersion(incoming), method, params, acceptsStream: acceptsStream(incoming) }
}

function isMeshEnvelope({ jsonrpc, message_id, message_type, sender_id }: Envelope): boolean {
  return jsonrpc === undefined && [message_id, message_type, sender_id].every((member) => typeof member === 'string')
}

/** What REST takes, and what python-a2a sends. */
function isBareMessage({ jsonrpc, method, role, parts, content, message }: Envelope): boolean {
  if (jsonrpc !== undefined || method !== undefined) return false
  return isObject(message) || (typeof role === 'string' && (parts !== undefined || content !== undefined))
}

function invalidRequest(message: string): A2AError {
  return new A2AError('invalid-request', message)
}

/** A long result stays a text of its own, which several responses can share. */
function successBody(id: RequestId, result: string): Outgoing['body'] {
  return result.length < minLargeLength ? `${successStart(id)}${result}}` : [successStart(id), result, '}']
}

/** The text before a result. After it comes the end of the object. */
function successStart(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

function failureText(id: RequestId, error: WireError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

interface ErrorAnswerOptions {
  readonly incoming: Incoming
  readonly request?: RequestFacts | undefined
  /** Defaults to the status of the error over JSON-RPC. */
  readonly status?: number | undefined
}

function errorAnswer(
  id: RequestId,
  dialect: ServerDialect,
  error: A2AError,
  { incoming, request, status }: ErrorAnswerOptions,
): TextAnswer {
  return {
    status: status ?? statusOf(error, dialect),
    headers: { ...jsonHeaders, ...errorHeaders(error) },
    body: failureText(id, encodeErrorFor(incoming, dialect, error, request)),
  }
}

function statusOf({ code, reason }: A2AError, { malformedStatus }: ServerDialect): number {
  if (reason === wrongBodyReason) return 415
  const isMalformed = code === 'parse-error' || code === 'invalid-request'
  return isMalformed && malformedStatus !== undefined ? malformedStatus : httpStatus[code]
}

function encodeErrorFor(
  incoming: RequestLine,
  dialect: ServerDialect,
  error: A2AError,
  request?: RequestFacts,
): WireError {
  const wire = dialect.encodeError(error)
  if (!dialect.adaptError) return wire
  const caller = { userAgent: incoming.header('user-agent') ?? '', version: readVersion(incoming) }
  return dialect.adaptError(wire, caller, request)
}

/** SDKs before 1.0 that accept only streams read no other answer, unless the HTTP status is an error. */
function errorAsEvent(answer: TextAnswer): Outgoing {
  return { status: 200, headers: sseHeaders, body: eventText({ event: 'error', data: oneLine(answer.body) }) }
}
