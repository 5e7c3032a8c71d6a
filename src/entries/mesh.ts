/** Signed envelopes between mesh peers, over HTTP and WebSocket. */

export type { MeshCard, MeshEnvelope } from '../mesh/envelope.ts'

export { MeshError, MeshRefusal } from '../mesh/errors.ts'
export type { FirstHandshakeKeys, MeshKeySource } from '../mesh/key-sources.ts'
export { combineKeySources, configuredKeys, firstHandshakeKeys, lookedUpKeys } from '../mesh/key-sources.ts'
export {
  generateSigningKey,
  importPublicKey,
  importSigningKey,
  type MeshKey,
  type MeshSigningKey,
} from '../mesh/keys.ts'
export type { MeshLink } from '../mesh/link.ts'
export { registryKeys } from '../mesh/link.ts'
export type { MeshCall, MeshMethod, MeshPeerOptions } from '../mesh/options.ts'
export { createMeshPeer, type MeshPeer } from '../mesh/peer.ts'
export { createRateLimit, type RateLimit } from '../mesh/rate-limit.ts'
export { createReplayCache, type ReplayCache } from '../mesh/replay-cache.ts'
export { signEnvelope } from '../mesh/signature.ts'
export type { MeshSocket } from '../mesh/websocket.ts'
