/** Tools that need Node: listeners for `node:http`, a guarded `fetch`, the gRPC client, a registry server. */

export { RequestRefused } from '../http/address-guard.ts'
export { type GrpcOptions, grpc } from '../node/grpc-client.ts'
export { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from '../node/guarded-fetch/guarded-fetch.ts'

export { createPushFetch, type PushFetchOptions } from '../node/guarded-fetch/push-fetch.ts'

export { toListener } from '../node/listener.ts'
export { type PeerServer, type ServePeerOptions, servePeer } from '../node/serve-peer.ts'
export { type RegistryServer, type ServeRegistryOptions, serveRegistry } from '../node/serve-registry.ts'
