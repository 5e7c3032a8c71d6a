export { createMeshPeer } from '../node/mesh-peer.ts'
export * from './mesh.ts'
