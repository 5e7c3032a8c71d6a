import type { JsonObject } from '../../base/json.ts'
import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { CallerSoftware, HttpError, WireError } from '../dialect.ts'
import { errorTexts, messageOf, unsupportedText } from '../error-texts.ts'
import * as v1_0 from '../v1.0/errors.ts'

const invalidRequest = { code: -32600, type: 'InvalidRequestError' }

const invalidParams = { code: -32602, type: 'InvalidParamsError' }

const internal = { code: -32603, type: 'InternalError' }

const taskNotFoundText = 'Task not found'

const taskNotFound = { code: -32001, type: 'TaskNotFoundError', text: taskNotFoundText }

export const unsupported = { code: -32004, type: 'UnsupportedOperationError', text: unsupportedText }

export const kinds: Readonly<Record<ErrorCode, ErrorKind>> = {
  'parse-error': { code: -32700, type: 'JSONParseError' },
  'invalid-request': invalidRequest,
  'method-not-found': { code: -32601, type: 'MethodNotFoundError' },
  'invalid-params': invalidParams,
  internal,
  'task-not-found': taskNotFound,
  'task-expired': taskNotFound,
  'task-not-cancelable': { code: -32002, type: 'TaskNotCancelableError' },
  'push-not-supported': { code: -32003, type: 'PushNotificationNotSupportedError' },
  'unsupported-operation': unsupported,
  'streaming-not-supported': unsupported,
  'task-ended': unsupported,
  'content-type-not-supported': { code: -32005, type: 'ContentTypeNotSupportedError' },
  'invalid-agent-response': { code: -32006, type: 'InvalidAgentResponseError' },
  'extended-card-not-configured': {
    code: -32007,
    type: 'AuthenticatedExtendedCardNotConfiguredError',
    text: 'Authenticated Extended Card is not configured',
  },
  'extension-required': unsupported,
  'version-not-supported': unsupported,
  'task-generation-mismatch': invalidParams,
  conflict: invalidParams,
  'payload-too-large': invalidRequest,
  // The specification leaves these to HTTP.
  unauthenticated: { code: -31401, type: 'UnauthenticatedError' },
  forbidden: { code: -31403, type: 'ForbiddenError' },
  'rate-limited': { code: -32053, type: 'RateLimitedError' },
  unavailable: internal,
  timeout: internal,
  'input-timeout': { code: -32050, type: 'InputTimeoutError' },
  'tool-failed': { code: -32051, type: 'ToolExecutionFailedError' },
  'context-not-found': { code: -32052, type: 'ContextNotFoundError' },
}

export function encodeError(error: A2AError): WireError {
  return encodeErrorAs(kinds[error.code], error)
}

export function encodeHttpError(error: A2AError): HttpError {
  return encodeHttpErrorAs(kinds[error.code], error)
}

/** Adds the error details of 1.0, which distinguish errors that share a number here, and name the wrong fields. */
export function encodeErrorAs(kind: ErrorKind, error: A2AError): WireError {
  const { code } = kind
  const details = v1_0.detailsOf(error)
  // fasta2a and pydantic-ai accept this error only with its bare text. The detail goes into the data.
  if (code === taskNotFound.code) return { code, message: taskNotFoundText, data: [...details, ...localized(error)] }
  const message = messageOf(textOf(kind, error), error)
  return details.length === 0 ? { code, message } : { code, message, data: details }
}

/** a2a-go before 2.0 reads the data of an error as an object only; later versions name theirs, and read a list only. */
export function adaptError(wire: WireError, { userAgent, version }: CallerSoftware): WireError {
  const isOldGo = version === undefined && userAgent.startsWith('Go-http-client/')
  return isOldGo && wire.data !== undefined ? { ...wire, data: { details: wire.data } } : wire
}

/** 0.3 does not define errors over REST. The body combines what each of its SDKs reads. */
export function encodeHttpErrorAs(kind: ErrorKind, error: A2AError): HttpError {
  const { status, body } = v1_0.encodeHttpError(error)
  const wire = { ...encodeErrorAs(kind, error), message: messageOf(textOf(kind, error), error) }
  return { status, body: { ...wire, type: kind.type, ...body } }
}

export interface ErrorKind {
  /** The JSON-RPC error code. */
  readonly code: number
  /** The name in the schema, which some servers send over REST. */
  readonly type: string
  /** The text of the specification. Defaults to the one of 1.0. */
  readonly text?: string
}

function textOf({ text }: ErrorKind, { code }: A2AError): string {
  return text ?? errorTexts[code] ?? ''
}

function localized(error: A2AError): readonly JsonObject[] {
  const message = messageOf(taskNotFoundText, error).slice(`${taskNotFoundText}: `.length)
  return message === '' ? [] : [{ '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en', message }]
}
