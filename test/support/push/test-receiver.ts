import { onTestFinished } from 'vitest'
import { createKeyRing, newSigningKey, type SigningKey } from '../../../src/core/auth/key-ring.ts'
import type { ReceiverOptions } from '../../../src/core/push/receiver/options.ts'
import type { PushDelivery } from '../../../src/core/push/receiver/ordering.ts'
import { createReceiver, type Receiver } from '../../../src/core/push/receiver/receiver.ts'
import type { SignPush } from '../../../src/core/push/request.ts'
import { pushSigner } from '../../../src/core/push/signing/push-signer.ts'

export const hookUrl = 'https://me.example.com/hooks/a2a'
export const issuer = 'https://agent.example.com'

export function testReceiver(options: Partial<ReceiverOptions> = {}): Receiver {
  const receiver = createReceiver({ url: hookUrl, ...options })
  onTestFinished(() => receiver.close())
  return receiver
}

export interface DeliveryOptions {
  readonly token?: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  readonly sign?: SignPush
  readonly url?: string
  readonly deliveryId?: string
  readonly generation?: number
  readonly previous?: number
}

/** A 1.0 status update, as Parley sends it. */
export function statusBody(state = 'TASK_STATE_WORKING', taskId = 't-1'): object {
  return { statusUpdate: { taskId, contextId: 'c-1', status: { state, timestamp: '2026-01-01T00:00:00.000Z' } } }
}

/** The request of a delivery. */
export async function delivery(options: DeliveryOptions): Promise<Request> {
  const { token, body = statusBody(), sign, url = hookUrl, deliveryId, generation, previous } = options
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(token !== undefined && { 'x-a2a-notification-token': token }),
    ...(deliveryId !== undefined && { 'x-a2a-delivery-id': deliveryId }),
    ...(generation !== undefined && { 'x-a2a-generation': `${generation}` }),
    ...(previous !== undefined && { 'x-a2a-previous-generation': `${previous}` }),
    ...options.headers,
  }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const signed = sign ? { ...headers, ...(await sign({ url, headers, body: text })) } : headers
  return new Request(url, { method: 'POST', headers: signed, body: text })
}

export async function tokenOf(receiver: Receiver): Promise<string> {
  const { token = '' } = await receiver.register()
  return token
}

/** A sender with a signing key, and the signer to configure at the receiver. */
export async function newSender(form: 'jwt' | 'http-signature' | 'both' = 'jwt', alg: SigningKey['alg'] = 'ES256') {
  const ring = createKeyRing(await newSigningKey(alg, 'first'))
  return {
    ring,
    sign: pushSigner({ keys: ring, issuer, form }),
    signer: { issuer, jwks: await ring.published() },
  }
}

/** The status and reason with which a receiver answers a delivery. */
export async function responseTo(receiver: Receiver, request: DeliveryOptions | Request): Promise<string> {
  const response = await receiver.fetch(request instanceof Request ? request : await delivery(request))
  if (response.status === 204) return '204'
  const { error } = (await response.json()) as { error: { reason: string } }
  return `${response.status} ${error.reason}`
}

/** A receiver that records the deliveries it handles. */
export async function recordingReceiver(options: Partial<ReceiverOptions> = {}) {
  const deliveries: PushDelivery[] = []
  const receiver = testReceiver({ onEvent: (delivery) => void deliveries.push(delivery), ...options })
  const token = await tokenOf(receiver)
  const post = (options: DeliveryOptions = {}) => responseTo(receiver, { token, ...options })
  return { receiver, deliveries, token, post }
}
