import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocketServer } from 'ws'
import { createMeshPeer, firstHandshakeKeys, generateSigningKey, MeshError } from '../../src/entries/mesh.ts'
import { servePeer } from '../../src/entries/node.ts'
import type { ServePeerOptions } from '../../src/serve/serve-peer.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, meshPair, post, signedRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'

const card = { agent_id: 'price-agent' }
const methods = { get_price: () => ({ price: 4.25 }) }

describe('servePeer', () => {
  it('servePeer serves a peer in one line, and its card names the endpoint and the key', async () => {
    const { endpoint, key } = await start({ card, methods })
    const link = (await trustingPeer()).link({ agentId: 'price-agent', endpoint })
    const { card: peerCard } = await link.handshake()
    expect(await link.request('get_price')).toEqual({ price: 4.25 })
    expect(peerCard).toMatchObject({ capabilities: ['get_price'], metadata: { endpoint, public_key: key?.jwk } })
    expect((await fetch(new URL('/other', endpoint), { method: 'POST' })).status).toBe(404)
  })

  it('servePeer serves WebSockets at the same address and names the public URL', async () => {
    const sockets = new WebSocketServer({ noServer: true })
    const { endpoint, port } = await start({ card, methods, sockets, publicUrl: 'https://prices.example.com/' })
    expect(endpoint).toBe('https://prices.example.com/mesh')
    const link = (await trustingPeer()).connect({ agentId: 'price-agent', url: `ws://127.0.0.1:${port}/mesh` })
    onTestFinished(() => link.close())
    await link.handshake()
    expect(await link.request('get_price')).toEqual({ price: 4.25 })
  })

  it('servePeer needs keys on an address that other machines can reach', async () => {
    await expect(servePeer({ card, methods, host: '0.0.0.0', logger: silentLogger })).rejects.toThrow('give a key')
  })
})

describe('the card of a peer', () => {
  it('the card of a peer lists the schema versions that its author configured, and no other is negotiated', async () => {
    const { endpoint } = await start({ card: { ...card, schema_versions: ['1.0.0'] }, methods })
    const { card: peerCard, agreement } = await (await trustingPeer())
      .link({ agentId: 'price-agent', endpoint })
      .handshake()
    expect(agreement.schemaVersion).toBe('1.0.0')
    expect(peerCard.schema_versions ?? peerCard.metadata?.schema_versions).toEqual(['1.0.0'])
  })

  it('with an unsupported schema version is refused when the peer is created', () => {
    const create = () =>
      createMeshPeer({ card: meshCard('price-agent', { schema_versions: ['2.0.0'] }), requireAuth: false })
    expect(create).toThrow('card.schema_versions: 2.0.0 is not supported; expected some of 1.0.0, 1.1.0.')
  })
})

describe('a refusal', () => {
  it('a refused caller reads the reason, although neither peer knows the key of the other', async () => {
    const { price } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const stranger = createMeshPeer({
      card: meshCard('news-agent'),
      key: await generateSigningKey(),
      firstHandshake: firstHandshakeKeys(),
      logger: silentLogger,
    })
    const error = await stranger
      .link({ agentId: 'price-agent', endpoint })
      .handshake()
      .catch((reason) => reason)
    expect(error).toBeInstanceOf(MeshError)
    expect(error).toMatchObject({
      code: 'AUTHENTICATION_FAILED',
      message: expect.stringContaining('No key of news-agent is known here.'),
      details: { reason: 'UNKNOWN_KEY', verified: false },
    })
    expect(error.message).toContain('No key of price-agent is known here.')
  })

  it('a refusal names its documentation even where no envelope could be read', async () => {
    const { price, shopKey } = await meshPair({
      maxBytes: 200,
      documentationUrl: (code) => `https://example.com/errors#${code}`,
    })
    const { endpoint } = await startMeshServer(price)
    const { status, body } = await post(endpoint, await signedRequest(shopKey))
    expect(status).toBe(413)
    expect(body).toMatchObject({ error: { documentation_url: 'https://example.com/errors#PAYLOAD_TOO_LARGE' } })
    const other = await fetch(endpoint, { method: 'POST', body: '{}', headers: { 'content-type': 'text/plain' } })
    expect(await other.json()).toMatchObject({
      error: { documentation_url: 'https://example.com/errors#INVALID_MESSAGE' },
    })
  })
})

async function start(options: ServePeerOptions) {
  const server = await servePeer({ logger: silentLogger, ...options })
  onTestFinished(() => server.close())
  return server
}

/** A peer that trusts the key of each first handshake. */
async function trustingPeer() {
  return createMeshPeer({
    card: meshCard('shop-agent'),
    key: await generateSigningKey(),
    firstHandshake: firstHandshakeKeys(),
    logger: silentLogger,
  })
}
