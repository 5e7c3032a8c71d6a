import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  createMeshPeer,
  firstHandshakeKeys,
  generateSigningKey,
  type MeshPeerOptions,
  signEnvelope,
} from '../../src/entries/mesh.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, meshPair, meshRequest, post, signedRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'

describe('a handshake', () => {
  it('a handshake agrees on the highest common versions and lasts until a goodbye', async () => {
    const protocols = { supported_protocols: ['A2A/1.0', 'A2A/1.1'] }
    const { shop, price } = await meshPair(
      { card: meshCard('price-agent', protocols) },
      { card: meshCard('shop-agent', protocols) },
    )
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    expect(link.session.state).toBe('none')
    const shaking = link.handshake()
    expect(link.session.state).toBe('sent')
    expect(await shaking).toMatchObject({
      state: 'established',
      agreement: { protocol: 'A2A/1.1', schemaVersion: '1.1.0' },
      card: { agent_id: 'price-agent', schema_versions: ['1.0.0', '1.1.0'] },
    })
    expect(price.sessionWith('shop-agent')).toMatchObject({ state: 'established', agreement: { protocol: 'A2A/1.1' } })
    await link.goodbye({ reason: 'Closing time.', reconnectAfter: 60 })
    expect(link.session.state).toBe('goodbye')
    expect(price.sessionWith('shop-agent')).toEqual({ state: 'goodbye', reconnectAfter: 60 })
    expect((await link.handshake()).state).toBe('established')
  })

  it('a handshake without a common protocol is rejected with the supported versions', async () => {
    const { shop, price } = await meshPair({}, { card: meshCard('shop-agent', { supported_protocols: ['A2A/2.0'] }) })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    await expect(link.handshake()).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { supported_protocols: ['A2A/1.0'], schema_versions: ['1.0.0', '1.1.0'] },
    })
    expect(link.session.state).toBe('none')
    expect(price.sessionWith('shop-agent').state).toBe('none')
  })

  it('a peer can refuse a handshake with a reason', async () => {
    const { shop, price } = await meshPair({ refuseHandshake: ({ name }) => `We do not serve ${name}.` })
    const { endpoint } = await startMeshServer(price)
    await expect(shop.link({ agentId: 'price-agent', endpoint }).handshake()).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'We do not serve shop-agent.',
    })
  })

  it('a handshake with the card of another agent is rejected', async () => {
    const { price, shopKey } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const payload = { agent_card: meshCard('admin-agent') }
    const { status } = await post(endpoint, await signedRequest(shopKey, { message_type: 'handshake', payload }))
    expect(status).toBe(400)
  })

  it('with requireHandshake, requests are rejected before the handshake', async () => {
    const { shop, price } = await meshPair({ requireHandshake: true })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    await expect(link.request('get_price')).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { reason: 'HANDSHAKE_REQUIRED' },
    })
    await link.handshake()
    expect(await link.request('get_price')).toEqual({ symbol: 'TEA', price: 4.25 })
  })

  it('a schema 1.0.0 peer finds the schema versions in the metadata of the card', async () => {
    const { price, shopKey } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const payload = { agent_card: meshCard('shop-agent') }
    const { body } = await post(endpoint, await signedRequest(shopKey, { message_type: 'handshake', payload }))
    expect(body.payload).toMatchObject({
      accepted: true,
      selected_protocol: 'A2A/1.0',
      schema_version: '1.0.0',
      agent_card: { metadata: { schema_versions: ['1.0.0', '1.1.0'] } },
    })
    expect(body.payload).not.toHaveProperty('agent_card.schema_versions')
  })
})

describe('the key of a first handshake', () => {
  it('both peers trust the key from then on, and reject another key for the same agent', async () => {
    const price = await newcomer('price-agent', { methods: { get_price: () => ({ price: 1 }) } })
    const shop = await newcomer('shop-agent')
    const { endpoint } = await startMeshServer(price.peer)
    const link = shop.peer.link({ agentId: 'price-agent', endpoint })
    await expect(link.request('get_price')).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
    await link.handshake()
    expect(await link.request('get_price')).toEqual({ price: 1 })
    const thief = await newcomer('shop-agent')
    await expect(thief.peer.link({ agentId: 'price-agent', endpoint }).handshake()).rejects.toMatchObject({
      code: 'AUTHENTICATION_FAILED',
    })
    expect(await link.request('get_price')).toEqual({ price: 1 })
  })

  it('a handshake that is not signed with the key on its card is rejected', async () => {
    const price = await newcomer('price-agent')
    const [shown, used] = [await generateSigningKey(), await generateSigningKey()]
    const card = meshCard('shop-agent', { metadata: { public_key: shown.jwk as never } })
    const handshake = meshRequest({ message_type: 'handshake', payload: { agent_card: card } })
    const { endpoint } = await startMeshServer(price.peer)
    expect((await post(endpoint, JSON.stringify(await signEnvelope(handshake, used)))).status).toBe(401)
    expect(await price.keys.keysOf('shop-agent')).toEqual([])
  })
})

describe('a peer', () => {
  const card = meshCard('price-agent')
  it('a peer needs keys unless signatures are optional', async () => {
    expect(() => createMeshPeer({ card })).toThrow('Messages must be signed: give a key')
    const key = await generateSigningKey()
    expect(() => createMeshPeer({ card, key })).toThrow('no key of others is known')
    expect(createMeshPeer({ card, requireAuth: false }).agentId).toBe('price-agent')
    expect(() => createMeshPeer({ card: { ...card, name: '' }, requireAuth: false })).toThrow(
      'The card is not valid: name',
    )
  })

  it('signatures are required by default, whatever NODE_ENV is', () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    for (const mode of ['production', 'test', 'development', '']) {
      vi.stubEnv('NODE_ENV', mode)
      expect(() => createMeshPeer({ card }), mode).toThrow('Messages must be signed')
    }
  })

  it('an unsigned message has no identity', async () => {
    const who: unknown[] = []
    const price = createMeshPeer({
      card,
      requireAuth: false,
      logger: silentLogger,
      methods: { get_price: (_, { from, identity }) => ({ seen: who.push({ from, identity }) }) },
    })
    const shop = createMeshPeer({ card: meshCard('shop-agent'), requireAuth: false })
    const { endpoint } = await startMeshServer(price)
    await shop.link({ agentId: 'price-agent', endpoint }).request('get_price')
    expect(who).toEqual([{ from: 'shop-agent', identity: undefined }])
  })

  it('a peer with a directory answers discovery requests for the registry', async () => {
    const agent = {
      agent_id: 'tea-agent',
      name: 'Tea',
      capabilities: ['prices'],
      status: 'healthy',
      endpoint: 'https://tea.example.com/mesh',
    } as const
    const { shop, price } = await meshPair({ directory: { discover: () => ({ agents: [agent], total_count: 1 }) } })
    const { endpoint } = await startMeshServer(price)
    const registry = shop.link({ agentId: 'registry', endpoint })
    expect(await registry.discover({ capabilities: ['prices'] })).toEqual({ agents: [agent], total_count: 1 })
  })
})

async function newcomer(agentId: string, more: Partial<MeshPeerOptions> = {}) {
  const keys = firstHandshakeKeys()
  const options = {
    card: meshCard(agentId),
    key: await generateSigningKey(),
    firstHandshake: keys,
    logger: silentLogger,
  }
  return { peer: createMeshPeer({ ...options, ...more }), keys }
}
