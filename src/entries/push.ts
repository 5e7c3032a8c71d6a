/** Receives webhooks and verifies them, and signs those of a server. */

export { createKeyRing, type KeyRing, type KeyRingOptions, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export { createDeliveryMemory } from '../push/receiver/delivery-memory.ts'
export type { ReceiverOptions, RefusedDelivery } from '../push/receiver/options.ts'
export type { PushDelivery } from '../push/receiver/ordering.ts'
export { createReceiver, type Receiver } from '../push/receiver/receiver.ts'

export type { PushRequest, SignPush } from '../push/request.ts'
export { pushHeaders } from '../push/request.ts'
export { type PushSignerOptions, pushSigner } from '../push/signing/push-signer.ts'
