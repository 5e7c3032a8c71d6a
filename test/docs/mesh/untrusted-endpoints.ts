import type { MeshLink, MeshPeer } from '../../../src/entries/mesh.ts'
import { createGuardedFetch } from '../../../src/entries/node.ts'

const guardedFetch = createGuardedFetch()

export function linkToUntrusted(shop: MeshPeer, agentId: string, endpoint: string): MeshLink {
  return shop.link({ agentId, endpoint, fetch: guardedFetch })
}
