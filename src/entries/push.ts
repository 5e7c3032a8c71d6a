/** Receives webhooks and verifies them, and signs those of a server. */

export { createKeyRing, type KeyRing, newSigningKey, type SigningKey } from '../core/auth/key-ring.ts'
export { createDeliveryMemory, type DeliveryMemory } from '../core/push/receiver/delivery-memory.ts'
export type { RefusedDelivery } from '../core/push/receiver/options.ts'
export type { PushDelivery } from '../core/push/receiver/ordering.ts'
export { createReceiver, type Receiver } from '../core/push/receiver/receiver.ts'

export type { PushRequest, SignPush } from '../core/push/request.ts'
export { pushSigner } from '../core/push/signing/push-signer.ts'
