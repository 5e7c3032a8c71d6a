import { onTestFinished } from 'vitest'
import { keyRing, newSigningKey, type SigningKey } from '../../src/auth/key-ring.ts'
import type { ReceiveOptions } from '../../src/push/receiver/options.ts'
import type { PushDelivery } from '../../src/push/receiver/ordering.ts'
import { type Receiver, receive } from '../../src/push/receiver/receiver.ts'
import type { SignPush } from '../../src/push/request.ts'
import { pushSigner } from '../../src/push/signing/push-signer.ts'

export const hookUrl = 'https://me.example.com/hooks/a2a'
export const issuer = 'https://agent.example.com'

export function receiver(options: Partial<ReceiveOptions> = {}): Receiver {
  const made = receive({ url: hookUrl, ...options })
  onTestFinished(() => made.close())
  return made
}

export interface Posting {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly sign?: SignPush
  readonly url?: string
  readonly deliveryId?: string
  readonly generation?: number
  readonly previous?: number
}

/** A status of 1.0, as Parley tells it. */
export function statusBody(state = 'TASK_STATE_WORKING', taskId = 't-1'): object {
  return { statusUpdate: { taskId, contextId: 'c-1', status: { state, timestamp: '2026-01-01T00:00:00.000Z' } } }
}

/** A delivery as it is sent. */
export async function delivery(posting: Posting): Promise<Request> {
  const { token, body = statusBody(), sign, url = hookUrl, deliveryId, generation, previous } = posting
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(token !== undefined && { 'x-a2a-notification-token': token }),
    ...(deliveryId !== undefined && { 'x-a2a-delivery-id': deliveryId }),
    ...(generation !== undefined && { 'x-a2a-generation': `${generation}` }),
    ...(previous !== undefined && { 'x-a2a-previous-generation': `${previous}` }),
    ...posting.headers,
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const signed = sign ? { ...headers, ...(await sign({ url, headers, body: text })) } : headers
  return new Request(url, { method: 'POST', headers: signed, body: text })
}

export async function tokenOf(made: Receiver): Promise<string> {
  const { token = '' } = await made.register()
  return token
}

/** Somebody who signs, and what a receiver must know of it. */
export async function newSender(form: 'jwt' | 'http-signature' | 'both' = 'jwt', alg: SigningKey['alg'] = 'ES256') {
  const ring = keyRing(await newSigningKey(alg, 'first'))
  return {
    ring,
    sign: pushSigner({ keys: ring, issuer, form }),
    signer: { issuer, jwks: await ring.published() },
  }
}

/** What a receiver says to a delivery. */
export async function answerTo(made: Receiver, posting: Posting | Request): Promise<string> {
  const response = await made.fetch(posting instanceof Request ? posting : await delivery(posting))
  if (response.status === 204) return '204'
  const { error } = (await response.json()) as { error: { reason: string } }
  return `${response.status} ${error.reason}`
}

/** A receiver with a callback that only notes what it is told. */
export async function noting(options: Partial<ReceiveOptions> = {}) {
  const told: PushDelivery[] = []
  const made = receiver({ onEvent: (each) => void told.push(each), ...options })
  const token = await tokenOf(made)
  return { made, told, token, post: (posting: Posting = {}) => answerTo(made, { token, ...posting }) }
}
