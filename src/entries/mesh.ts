export type {
  MeshAgentAnnouncement,
  MeshAuth,
  MeshCard,
  MeshDiscoverAgents,
  MeshEnvelope,
  MeshErrorMessage,
  MeshGoodbye,
  MeshHandshake,
  MeshHandshakeAck,
  MeshRequest,
  MeshResponse,
  MessageType,
} from '../mesh/envelope.ts'
export { createCheck, createReader, type ReadEnvelope, type Reading, type ReadOptions } from '../mesh/envelope-codec.ts'
export { MeshError, type MeshErrorDetails, MeshRefusal, type StandardCode } from '../mesh/errors.ts'
export {
  configuredKeys,
  type FirstHandshakeKeys,
  firstHandshakeKeys,
  firstOf,
  type KeySource,
  type LookedUpKeysOptions,
  lookedUpKeys,
} from '../mesh/key-sources.ts'
export type { KeyKind, KeyMaterial } from '../mesh/keys.ts'
export {
  generateSigningKey,
  importPublicKey,
  importSigningKey,
  type KeyOptions,
  type MeshKey,
  type MeshSigningKey,
} from '../mesh/keys.ts'
export type { AskOptions, MeshLink } from '../mesh/link.ts'
export { registryKeys } from '../mesh/link.ts'
export type { MeshCall, MeshDirectory, MeshMethod, MeshPeerOptions } from '../mesh/options.ts'
export { createMeshPeer, type HttpLinkTo, type LinkTo, type MeshPeer, type SocketLinkTo } from '../mesh/peer.ts'
export { createRateLimit, type RateLimit, type RateLimitOptions } from '../mesh/rate-limit.ts'
export type { MeshReply } from '../mesh/receive.ts'
export {
  type Claim,
  createReplayCache,
  type ReplayCache,
  type ReplayCacheOptions,
  type Sighting,
} from '../mesh/replay-cache.ts'
export type { Session } from '../mesh/sessions.ts'
export type { MeshIdentity } from '../mesh/signature.ts'
export { isSignedBy, sign } from '../mesh/signature.ts'
export type { Agreement } from '../mesh/versions.ts'
export type { MeshSocket, SocketOptions } from '../mesh/websocket.ts'
