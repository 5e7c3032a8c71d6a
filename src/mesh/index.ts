export type { MeshIdentity } from './authenticate.ts'
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
} from './envelope.ts'
export { MeshError, type MeshErrorDetails, MeshRefusal, type StandardCode } from './errors.ts'
export type { KeyKind, KeyMaterial } from './key-material.ts'
export {
  configuredKeys,
  type FirstHandshakeKeys,
  firstHandshakeKeys,
  firstOf,
  type KeySource,
  type LookedUpKeysOptions,
  lookedUpKeys,
} from './key-sources.ts'
export {
  generateSigningKey,
  importPublicKey,
  importSigningKey,
  type KeyOptions,
  type MeshKey,
  type MeshSigningKey,
} from './keys.ts'
export type { AskOptions, MeshLink } from './link.ts'
export type { MeshCall, MeshDirectory, MeshMethod, MeshPeerOptions } from './options.ts'
export { createMeshPeer, type HttpLinkTo, type LinkTo, type MeshPeer, type SocketLinkTo } from './peer.ts'
export { createRateLimit, type RateLimit, type RateLimitOptions } from './rate-limit.ts'
export { createCheck, createReader, type ReadEnvelope, type Reading, type ReadOptions } from './read-envelope.ts'
export type { MeshReply } from './receive.ts'
export { registryKeys } from './registry-keys.ts'
export {
  type Claim,
  createReplayCache,
  type ReplayCache,
  type ReplayCacheOptions,
  type Sighting,
} from './replay-cache.ts'
export type { Session } from './sessions.ts'
export { isSignedBy, sign } from './sign.ts'
export type { MeshSocket, SocketOptions } from './socket.ts'
export type { Agreement } from './versions.ts'
