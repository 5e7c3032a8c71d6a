import type { JsonObject } from '../base/json.ts'

export interface MeshErrorDetails {
  readonly details?: JsonObject
  /** Seconds after which it may be tried again. */
  readonly retryAfter?: number
  readonly documentationUrl?: string
  /** The agent that was asked, if the error is about asking one. Never told to others. */
  readonly asked?: string
  readonly cause?: unknown
}

/** The protocol was broken, or a peer cannot answer: an `error` message. The message is fit to be shown to the peer. */
export class MeshError extends Error {
  override readonly name = 'MeshError'
  /** A standard code, or one that a peer has of its own. */
  readonly code: string
  readonly details: JsonObject | undefined
  readonly retryAfter: number | undefined
  readonly documentationUrl: string | undefined
  readonly asked: string | undefined

  constructor(code: string, message: string, more: MeshErrorDetails = {}) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.code = code
    this.details = more.details
    this.retryAfter = more.retryAfter
    this.documentationUrl = more.documentationUrl
    this.asked = more.asked
  }
}

/** A method understood its request and does not fulfil it: a `response` with the status `error`. */
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

/** The status for a code; a code that is not standard is the fault of nobody in particular. */
export function httpStatusOf(code: string): number {
  return Object.hasOwn(statusOf, code) ? statusOf[code as StandardCode] : 500
}

/** The standard codes and the status with which HTTP says the same. */
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
