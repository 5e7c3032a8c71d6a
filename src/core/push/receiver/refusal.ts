import type { Outgoing } from '../../http/exchange.ts'

/** The error response of A2A 1.0 over HTTP (§11.6). */
export function answerRefusal({ reason, message, retryAfter }: DeliveryRefusal): Outgoing {
  const [code, status] = statuses[reason]
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (code === 405) headers.allow = 'POST'
  if (code === 401) headers['www-authenticate'] = 'Bearer'
  const delay = retryAfter ?? (code === 429 || code === 503 ? 1 : undefined)
  if (delay !== undefined) headers['retry-after'] = `${delay}`
  return { status: code, headers, body: JSON.stringify({ error: { code, status, reason, message } }) }
}

/** Why a delivery was refused. */
export type RefusalReason = keyof typeof statuses

/** Refuses a delivery. The message is for the sender: it contains no secrets and no internals. */
export class DeliveryRefusal extends Error {
  override readonly name = 'DeliveryRefusal'
  readonly reason: RefusalReason
  /** Delay before the next attempt, in seconds. */
  readonly retryAfter: number | undefined

  constructor(reason: RefusalReason, message: string, options: ErrorOptions & { readonly retryAfter?: number } = {}) {
    super(message, options)
    this.reason = reason
    this.retryAfter = options.retryAfter
  }
}

const statuses = {
  method: [405, 'UNIMPLEMENTED'],
  'content-type': [415, 'INVALID_ARGUMENT'],
  'too-large': [413, 'INVALID_ARGUMENT'],
  token: [401, 'UNAUTHENTICATED'],
  signature: [401, 'UNAUTHENTICATED'],
  'unknown-key': [401, 'UNAUTHENTICATED'],
  'keys-unavailable': [503, 'UNAVAILABLE'],
  audience: [401, 'UNAUTHENTICATED'],
  stale: [401, 'UNAUTHENTICATED'],
  tampered: [401, 'UNAUTHENTICATED'],
  replayed: [409, 'ALREADY_EXISTS'],
  conflict: [409, 'ALREADY_EXISTS'],
  payload: [400, 'INVALID_ARGUMENT'],
  busy: [429, 'RESOURCE_EXHAUSTED'],
  pending: [503, 'UNAVAILABLE'],
  'not-taken': [503, 'UNAVAILABLE'],
  failed: [503, 'UNAVAILABLE'],
  closed: [503, 'UNAVAILABLE'],
} as const satisfies Readonly<Record<string, readonly [code: number, name: string]>>
