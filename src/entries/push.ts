/** Receives webhooks and verifies them, and signs those of a server. */

export { createKeyRing, type KeyRing, type KeyRingOptions, newSigningKey, type SigningKey } from '../auth/key-ring.ts'
export type {
  ArtifactEvent,
  MessageEvent,
  StatusEvent,
  StoredEvent,
  StreamEvent,
  TaskEvent,
  TaskRef,
} from '../protocol/events.ts'
export type {
  Artifact,
  DataPart,
  Message,
  Part,
  Principal,
  RawPart,
  Role,
  Task,
  TaskState,
  TaskStatus,
  TextPart,
  UrlPart,
} from '../protocol/model.ts'
export { createDeliveryMemory } from '../push/receiver/delivery-memory.ts'
export type { ReceiverOptions, RefusedDelivery } from '../push/receiver/options.ts'
export type { PushDelivery } from '../push/receiver/ordering.ts'
export { createReceiver, type Receiver } from '../push/receiver/receiver.ts'

export type { PushRequest, SignPush } from '../push/request.ts'
export { pushHeaders } from '../push/request.ts'
export { type PushSignerOptions, pushSigner } from '../push/signing/push-signer.ts'
