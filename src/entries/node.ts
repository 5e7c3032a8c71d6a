/** Tools that need Node: listeners for `node:http`, a guarded `fetch`, the gRPC client, a registry server. */

export { RequestRefused } from '../http/address-guard.ts'
export { type Grpc, grpc } from '../node/grpc-client.ts'
export { createGuardedFetch, type GuardedFetch } from '../node/guarded-fetch/guarded-fetch.ts'

export { createPushFetch } from '../node/guarded-fetch/push-fetch.ts'

export { toListener } from '../node/listener.ts'
export { type PeerServer, servePeer } from '../node/serve-peer.ts'
export { type RegistryServer, serveRegistry } from '../node/serve-registry.ts'
