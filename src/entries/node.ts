/** Tools that need Node: listeners for `node:http`, a guarded `fetch`, the gRPC client, a registry server. */

export { RequestRefused } from '../core/http/address-guard.ts'
export { type Grpc, grpc } from '../core/node/grpc-client.ts'
export { createGuardedFetch, type GuardedFetch } from '../core/node/guarded-fetch/guarded-fetch.ts'

export { createPushFetch } from '../core/node/guarded-fetch/push-fetch.ts'

export { toListener } from '../core/node/listener.ts'
export { type PeerServer, servePeer } from '../serve/serve-peer.ts'
export { type RegistryServer, serveRegistry } from '../serve/serve-registry.ts'
