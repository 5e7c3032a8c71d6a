/** Receives webhooks and verifies them, and signs those of a server. */

export { createKeyRing, type KeyRing, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export { createDeliveryMemory, type DeliveryMemory } from '../push/receiver/delivery-memory.ts'
export type { RefusedDelivery } from '../push/receiver/options.ts'
export type { PushDelivery } from '../push/receiver/ordering.ts'
export { createReceiver, type Receiver } from '../push/receiver/receiver.ts'

export type { PushRequest, SignPush } from '../push/request.ts'
export { pushSigner } from '../push/signing/push-signer.ts'
