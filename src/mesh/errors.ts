import type { JsonObject } from '../core/base/json.ts'

export interface MeshErrorDetails {
  readonly details?: JsonObject
  /** Seconds after which the sender may retry. */
  readonly retryAfter?: number
  readonly documentationUrl?: string
  /** The peer that was called, if the error comes from calling one. Never sent to other peers. */
  readonly peer?: string
  readonly cause?: unknown
}

/** A protocol violation, or a peer that cannot answer: an `error` message. Its text may be shown to the peer. */
export class MeshError extends Error {
  override readonly name = 'MeshError'
  /** A standard code, or a code of the peer's own. */
  readonly code: string
  readonly details: JsonObject | undefined
  readonly retryAfter: number | undefined
  readonly documentationUrl: string | undefined
  readonly peer: string | undefined

  constructor(code: string, message: string, options: MeshErrorDetails = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.details = options.details
    this.retryAfter = options.retryAfter
    this.documentationUrl = options.documentationUrl
    this.peer = options.peer
  }
}

/** A method understood its request and rejects it: a `response` with the status `error`. */
export class MeshRefusal extends Error {
  override readonly name = 'MeshRefusal'
  /** Capitals, digits and underscores, such as `INVALID_CURRENCY`. */
  readonly code: string
  readonly details: JsonObject | undefined

  constructor(code: string, message: string, details?: JsonObject) {
    super(message)
    this.code = code
    this.details = details
  }
}

export type StandardCode = keyof typeof statusOf

/** The HTTP status of a code; 500 for codes that are not standard. */
export function httpStatusOf(code: string): number {
  return Object.hasOwn(statusOf, code) ? statusOf[code as StandardCode] : 500
}

/** The standard codes with their HTTP status. */
export const statusOf = {
  INVALID_MESSAGE: 400,
  VALIDATION_FAILED: 400,
  AUTHENTICATION_FAILED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  METHOD_NOT_ALLOWED: 405,
  PAYLOAD_TOO_LARGE: 413,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_ERROR: 500,
  SERVICE_UNAVAILABLE: 503,
  TIMEOUT: 504,
} as const
