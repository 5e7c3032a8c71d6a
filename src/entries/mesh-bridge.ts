export { type MeshAgentOptions, type MeshAsk, meshAgent } from '../mesh-bridge/agent.ts'
export { type MeshCardOptions, meshCardOf } from '../mesh-bridge/card.ts'
export { toA2AError, toMeshError } from '../mesh-bridge/errors.ts'
export {
  type A2AMethodsOptions,
  a2aMethods,
  type BridgeOptions,
  type MeshPrincipalOf,
  meshPrincipal,
  type ToClient,
  type ToService,
} from '../mesh-bridge/methods.ts'
export { type LinkOf, type MeshServiceOptions, meshService } from '../mesh-bridge/service.ts'
export { isolateOwners, type KeptApartOptions } from '../mesh-bridge/task-ownership.ts'
