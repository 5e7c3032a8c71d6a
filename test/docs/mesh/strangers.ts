import { createGuardedFetch } from '../../../src/entries/guard.ts'
import type { MeshLink, MeshPeer } from '../../../src/entries/mesh.ts'

const guarded = createGuardedFetch()

export function linkToStranger(shop: MeshPeer, agentId: string, endpoint: string): MeshLink {
  return shop.link({ agentId, endpoint, fetch: guarded })
}
