export { type KeyRing, type KeyRingOptions, keyRing, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export type * from '../protocol/events.ts'
export type * from '../protocol/model.ts'
export {
  type Claim,
  createDeliveryMemory,
  type DeliveryMemory,
  type DeliveryMemoryOptions,
  type Sighting,
} from '../push/receiver/delivery-memory.ts'
export type { ReceiveOptions, RefusedDelivery } from '../push/receiver/options.ts'
export type { Missing, OrderOptions, PushDelivery } from '../push/receiver/ordering.ts'
export { type Receiver, receive } from '../push/receiver/receiver.ts'
export type { RefusalReason } from '../push/receiver/refusal.ts'
export type { Signer } from '../push/receiver/signers.ts'
export type { PushRequest, SignPush } from '../push/request.ts'
export { pushHeaders } from '../push/request.ts'
export { type PushSignerOptions, pushSigner } from '../push/signing/push-signer.ts'
