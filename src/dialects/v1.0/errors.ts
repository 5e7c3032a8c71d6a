import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { WireError } from '../dialect.ts'

export function encodeError(error: A2AError): WireError {
  const { code } = kinds[error.code]
  const details = detailsOf(error)
  return details.length === 0 ? { code, message: error.message } : { code, message: error.message, data: details }
}

interface ErrorKind {
  /** Of JSON-RPC. */
  readonly code: number
  /** Of `ErrorInfo`; what JSON-RPC itself defines has none. */
  readonly reason?: string
  readonly domain?: string
}

const a2a = 'a2a-protocol.org'
/** For what A2A has no word for. */
const own = 'parley'

const kinds: Readonly<Record<ErrorCode, ErrorKind>> = {
  'parse-error': { code: -32700 },
  'invalid-request': { code: -32600 },
  'method-not-found': { code: -32601 },
  'invalid-params': { code: -32602 },
  internal: { code: -32603 },
  'task-not-found': { code: -32001, reason: 'TASK_NOT_FOUND', domain: a2a },
  'task-not-cancelable': { code: -32002, reason: 'TASK_NOT_CANCELABLE', domain: a2a },
  'push-not-supported': { code: -32003, reason: 'PUSH_NOTIFICATION_NOT_SUPPORTED', domain: a2a },
  'unsupported-operation': { code: -32004, reason: 'UNSUPPORTED_OPERATION', domain: a2a },
  'streaming-not-supported': { code: -32004, reason: 'UNSUPPORTED_OPERATION', domain: a2a },
  'task-ended': { code: -32004, reason: 'UNSUPPORTED_OPERATION', domain: a2a },
  'content-type-not-supported': { code: -32005, reason: 'CONTENT_TYPE_NOT_SUPPORTED', domain: a2a },
  'invalid-agent-response': { code: -32006, reason: 'INVALID_AGENT_RESPONSE', domain: a2a },
  'extended-card-not-configured': { code: -32007, reason: 'EXTENDED_AGENT_CARD_NOT_CONFIGURED', domain: a2a },
  'extension-required': { code: -32008, reason: 'EXTENSION_SUPPORT_REQUIRED', domain: a2a },
  'version-not-supported': { code: -32009, reason: 'VERSION_NOT_SUPPORTED', domain: a2a },
  conflict: { code: -32602, reason: 'IDEMPOTENCY_CONFLICT', domain: own },
  'payload-too-large': { code: -32600, reason: 'PAYLOAD_TOO_LARGE', domain: own },
  unavailable: { code: -32603, reason: 'UNAVAILABLE', domain: own },
}

/** Objects of `google.rpc`, the same in every transport of A2A 1.0 (§3.3.2). */
function detailsOf({ code, metadata, violations, retryAfter }: A2AError): readonly JsonObject[] {
  const { reason, domain } = kinds[code]
  const details: JsonObject[] = []
  if (reason !== undefined && domain !== undefined) {
    const info = { '@type': typeUrl('ErrorInfo'), reason, domain }
    details.push(Object.keys(metadata).length === 0 ? info : { ...info, metadata })
  }
  if (violations.length > 0) {
    const fieldViolations = violations.map(({ field, description }) => ({ field, description }))
    details.push({ '@type': typeUrl('BadRequest'), fieldViolations })
  }
  if (retryAfter !== undefined) {
    details.push({ '@type': typeUrl('RetryInfo'), retryDelay: `${Number(retryAfter.toFixed(3))}s` })
  }
  return details
}

function typeUrl(name: string): string {
  return `type.googleapis.com/google.rpc.${name}`
}
