import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { HttpError, WireError } from '../dialect.ts'
import * as v1_0 from '../v1.0/errors.ts'

const parseError = { code: -32700, type: 'JSONParseError' }

const invalidRequest = { code: -32600, type: 'InvalidRequestError' }

const methodNotFound = { code: -32601, type: 'MethodNotFoundError' }

const invalidParams = { code: -32602, type: 'InvalidParamsError' }

const internal = { code: -32603, type: 'InternalError' }

export const unsupported = { code: -32004, type: 'UnsupportedOperationError' }

export const kinds: Readonly<Record<ErrorCode, ErrorKind>> = {
  'parse-error': parseError,
  'invalid-request': invalidRequest,
  'method-not-found': methodNotFound,
  'invalid-params': invalidParams,
  internal,
  'task-not-found': { code: -32001, type: 'TaskNotFoundError' },
  'task-expired': { code: -32001, type: 'TaskNotFoundError' },
  'task-not-cancelable': { code: -32002, type: 'TaskNotCancelableError' },
  'push-not-supported': { code: -32003, type: 'PushNotificationNotSupportedError' },
  'unsupported-operation': unsupported,
  'streaming-not-supported': unsupported,
  'task-ended': unsupported,
  'content-type-not-supported': { code: -32005, type: 'ContentTypeNotSupportedError' },
  'invalid-agent-response': { code: -32006, type: 'InvalidAgentResponseError' },
  'extended-card-not-configured': { code: -32007, type: 'AuthenticatedExtendedCardNotConfiguredError' },
  'extension-required': unsupported,
  'version-not-supported': unsupported,
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
export function encodeErrorAs({ code }: ErrorKind, error: A2AError): WireError {
  const { data: details } = v1_0.encodeError(error)
  const { message } = error
  return details === undefined ? { code, message } : { code, message, data: { details } }
}

/** 0.3 does not define errors over REST. The body combines what each of its SDKs reads. */
export function encodeHttpErrorAs(kind: ErrorKind, error: A2AError): HttpError {
  const { status, body } = v1_0.encodeHttpError(error)
  return { status, body: { ...encodeErrorAs(kind, error), type: kind.type, ...body } }
}

export interface ErrorKind {
  /** The JSON-RPC error code. */
  readonly code: number
  /** The name in the schema, which some servers send over REST. */
  readonly type: string
}
