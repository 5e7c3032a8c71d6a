/** Connects the mesh and A2A: agents as mesh peers, and mesh peers as agents. */

export { meshAgent } from '../mesh/bridge/agent.ts'
export { meshCardOf } from '../mesh/bridge/card.ts'
export { a2aMethods, meshPrincipal } from '../mesh/bridge/methods.ts'
export { meshService } from '../mesh/bridge/service.ts'
