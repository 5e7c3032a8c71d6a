/** Connects the mesh and A2A: agents as mesh peers, and mesh peers as agents. */

export { type MeshAgentOptions, meshAgent } from '../mesh-bridge/agent.ts'
export { type MeshCardOptions, meshCardOf } from '../mesh-bridge/card.ts'
export { toA2AError, toMeshError } from '../mesh-bridge/errors.ts'
export { a2aMethods, meshPrincipal } from '../mesh-bridge/methods.ts'
export { type MeshServiceOptions, meshService } from '../mesh-bridge/service.ts'
export { isolateOwners } from '../mesh-bridge/task-ownership.ts'
