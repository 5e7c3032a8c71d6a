import type { ErrorCode } from '../../protocol/errors.ts'

/** JSON-RPC tells its errors in the body. Only what HTTP itself acts upon (proxies, retries) gets a status of its own. */
export const httpStatus: Readonly<Record<ErrorCode, number>> = {
  'parse-error': 200,
  'invalid-request': 200,
  'method-not-found': 200,
  'invalid-params': 200,
  internal: 200,
  'task-not-found': 200,
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
  unavailable: 503,
}
