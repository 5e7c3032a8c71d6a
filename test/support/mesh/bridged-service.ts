import {
  configuredKeys,
  createMeshPeer,
  generateSigningKey,
  type MeshLink,
  type MeshPeerOptions,
} from '../../../src/entries/mesh.ts'
import { a2aMethods } from '../../../src/entries/mesh-bridge.ts'
import type { A2AMethodsOptions } from '../../../src/mesh/bridge/methods.ts'
import { silentLogger } from '../logger.ts'
import { meshCard, startMeshServer } from './mesh-peers.ts'

export interface BridgedService {
  readonly endpoint: string
  /** From the shop peer to the bridged service. */
  readonly link: MeshLink
  /** From another peer to the bridged service. */
  readonly other: MeshLink
}

const names = ['price-agent', 'shop-agent', 'news-agent'] as const
const [priceKey, shopKey, newsKey] = await Promise.all(names.map(() => generateSigningKey()))

/** Bridges a service to a mesh peer over HTTP, signed in both directions, and links two other peers to it. */
export async function startBridgedService(
  options: A2AMethodsOptions,
  more: Partial<MeshPeerOptions> = {},
): Promise<BridgedService> {
  if (!priceKey || !shopKey || !newsKey) throw new Error('a key is missing')
  const keys = await configuredKeys({
    'price-agent': priceKey.jwk,
    'shop-agent': shopKey.jwk,
    'news-agent': newsKey.jwk,
  })
  const shared = { keys, logger: silentLogger }
  const peer = createMeshPeer({
    ...shared,
    card: meshCard('price-agent'),
    key: priceKey,
    methods: a2aMethods(options),
    ...more,
  })
  const { endpoint } = await startMeshServer(peer)
  const shop = createMeshPeer({ ...shared, card: meshCard('shop-agent'), key: shopKey })
  const news = createMeshPeer({ ...shared, card: meshCard('news-agent'), key: newsKey })
  const to = { agentId: 'price-agent', endpoint }
  return { endpoint, link: shop.link(to), other: news.link(to) }
}
