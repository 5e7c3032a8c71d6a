import { describe, expect, it, onTestFinished } from 'vitest'
import {
  combineKeySources,
  configuredKeys,
  createMeshPeer,
  firstHandshakeKeys,
  generateSigningKey,
  type MeshLink,
  registryKeys,
} from '../../src/entries/mesh.ts'
import { createGuardedFetch } from '../../src/entries/node.ts'
import { createRegistry } from '../../src/entries/registry.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, startMeshServer } from '../support/mesh/mesh-peers.ts'

/** A registry, and a price agent that has only the key of the registry. */
async function place() {
  const [registryKey, priceKey] = [await generateSigningKey(), await generateSigningKey()]
  const fetch = createGuardedFetch({ loopback: 'allow' })
  const learning = { firstHandshake: firstHandshakeKeys(), logger: silentLogger }
  const registry = createRegistry({ key: registryKey, fetch, maintenance: false, ...learning })
  onTestFinished(async () => {
    await registry.close()
    fetch.close()
  })
  const { endpoint } = await startMeshServer(registry.peer)
  const known = await configuredKeys({ registry: registryKey.jwk, 'price-agent': priceKey.jwk })
  let registryEndpoint = endpoint
  const price = createMeshPeer({
    card: meshCard('price-agent'),
    key: priceKey,
    keys: combineKeySources(
      await configuredKeys({ registry: registryKey.jwk }),
      registryKeys((): MeshLink => toRegistry(registryEndpoint)),
    ),
    methods: { get_price: () => ({ price: 4.25 }) },
    logger: silentLogger,
  })
  const toRegistry = (address: string) => price.link({ agentId: 'registry', endpoint: address })
  await createMeshPeer({
    card: meshCard('price-agent'),
    key: priceKey,
    keys: known,
    firstHandshake: firstHandshakeKeys(),
  })
    .link({ agentId: 'registry', endpoint })
    .handshake()
  const { endpoint: at } = await startMeshServer(price)

  async function shop({ registers }: { readonly registers: boolean }): Promise<MeshLink> {
    const peer = createMeshPeer({
      card: meshCard('shop-agent', { metadata: { endpoint: 'http://127.0.0.1:65000/mesh' } }),
      key: await generateSigningKey(),
      keys: known,
      firstHandshake: firstHandshakeKeys(),
      logger: silentLogger,
    })
    if (registers) await peer.link({ agentId: 'registry', endpoint }).handshake()
    return peer.link({ agentId: 'price-agent', endpoint: at })
  }
  return {
    shop,
    loseRegistry() {
      registryEndpoint = 'http://127.0.0.1:1/mesh'
    },
  }
}

describe('keys from the registry', () => {
  it('a registered agent is authenticated', async () => {
    const { shop } = await place()
    expect(await (await shop({ registers: true })).request('get_price')).toEqual({ price: 4.25 })
  })

  it('an unregistered agent is rejected with UNKNOWN_KEY', async () => {
    const { shop } = await place()
    await expect((await shop({ registers: false })).request('get_price')).rejects.toMatchObject({
      code: 'AUTHENTICATION_FAILED',
      details: { reason: 'UNKNOWN_KEY' },
    })
  })

  it('a request is answered with SERVICE_UNAVAILABLE while the registry is unreachable', async () => {
    const { shop, loseRegistry } = await place()
    const link = await shop({ registers: true })
    loseRegistry()
    await expect(link.request('get_price')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfter: 1 })
  })

  it('the key of the registry itself is never looked up', () => {
    const keys = registryKeys(() => expect.fail('the registry was asked'))
    expect(keys.keysOf('registry')).toEqual([])
  })
})
