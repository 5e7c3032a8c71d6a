import type { MeshCall } from '../mesh/options.ts'
import { A2AError } from '../protocol/errors.ts'
import { anonymous, type Principal } from '../protocol/model.ts'

export type MeshPrincipalOf = (call: MeshCall) => Principal | Promise<Principal>

/**
 * Whom a peer is to a service: somebody of its own name, whom no user of another scheme can be taken for. Who has not
 * signed is nobody in particular, where that is enough. It has proved nothing to the schemes of A2A, and so has no grants.
 */
export function meshPrincipal({ allowsAnonymous = false } = {}): MeshPrincipalOf {
  return ({ identity }) => {
    if (identity) return { id: `mesh:${identity.agentId}` }
    if (allowsAnonymous) return anonymous
    throw new A2AError('unauthenticated', 'The message is not signed by a known key, and the agent must know who asks.')
  }
}
