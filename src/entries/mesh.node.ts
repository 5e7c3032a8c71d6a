export { createMeshPeer } from '../serve/mesh-peer.ts'
export * from './mesh.ts'
