import type { MeshLink, MeshPeer } from '../../../src/mesh/index.ts'
import { createGuardedFetch } from '../../../src/node/guard/index.ts'

const guarded = createGuardedFetch()

export function linkToStranger(shop: MeshPeer, agentId: string, endpoint: string): MeshLink {
  return shop.link({ agentId, endpoint, fetch: guarded })
}
