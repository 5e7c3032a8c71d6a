export { type KeyRing, type KeyRingOptions, keyRing, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export type * from '../protocol/events.ts'
export type * from '../protocol/model.ts'
export { pushHeaders } from './headers.ts'
export type { Missing, PushDelivery } from './receiver/delivery.ts'
export {
  type Claim,
  createDeliveryMemory,
  type DeliveryMemory,
  type DeliveryMemoryOptions,
  type Sighting,
} from './receiver/delivery-memory.ts'
export type { ReceiveOptions, RefusedDelivery } from './receiver/options.ts'
export type { OrderOptions } from './receiver/order.ts'
export { type Receiver, receive } from './receiver/receive.ts'
export type { RefusalReason } from './receiver/refusal.ts'
export type { Signer } from './receiver/signers.ts'
export type { PushRequest, SignPush } from './request.ts'
export { type PushSignerOptions, pushSigner } from './signing/push-signer.ts'
