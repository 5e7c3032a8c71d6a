import { createServer } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  configuredKeys,
  createMeshPeer,
  firstHandshakeKeys,
  generateSigningKey,
  type MeshPeerOptions,
  signEnvelope,
} from '../../src/entries/mesh.ts'
import { createGuardedFetch } from '../../src/entries/node.ts'
import { createRegistry, type RegistryOptions } from '../../src/entries/registry.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, meshRequest, post, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { listenOnFreePort } from '../support/servers/http-server.ts'

describe('the mesh registry', () => {
  it('agents with an endpoint are registered by their handshake and found by capability', async () => {
    const { agent } = await place()
    const tea = await agent('tea-agent', ['prices', 'tea'])
    await agent('news-agent', ['news'])
    const shop = await agent('shop-agent', ['shopping'], { endpoint: undefined })
    const found = await shop.registry.discover({ capabilities: ['tea', 'prices'] })
    expect(found).toMatchObject({
      total_count: 1,
      agents: [
        { agent_id: 'tea-agent', status: 'healthy', endpoint: tea.endpoint, last_heartbeat: expect.any(String) },
      ],
    })
    expect(found.query_time_ms).toBeGreaterThanOrEqual(0)
    expect(await shop.registry.discover({ filters: { max_results: 1 } })).toMatchObject({
      total_count: 2,
      agents: [{ agent_id: 'news-agent' }],
    })
  })

  it('a silent agent becomes unhealthy, any message makes it healthy, and a long silence removes it', async () => {
    let time = Date.now()
    const { agent, registry } = await place({ now: () => time })
    const tea = await agent('tea-agent', ['tea'], {}, { now: () => time })
    const healthy = async () => (await registry.discover({ filters: { status: 'healthy' } })).total_count
    time += 90_000
    expect(await healthy()).toBe(1)
    time += 1
    expect(await healthy()).toBe(0)
    expect((await registry.discover({ filters: { status: 'unhealthy' } })).total_count).toBe(1)
    await tea.registry.discover()
    expect(await healthy()).toBe(1)
    time += 900_000
    await registry.maintain()
    expect((await registry.discover()).total_count).toBe(1)
    time += 1
    await registry.maintain()
    expect((await registry.discover()).total_count).toBe(0)
  })

  it('an agent reports its status by heartbeat, which is accepted only from registered agents', async () => {
    const { agent, registry } = await place()
    const tea = await agent('tea-agent', ['tea'])
    await tea.registry.request('registry.heartbeat', { status: 'unhealthy' })
    expect((await registry.discover()).agents).toMatchObject([{ status: 'unhealthy' }])
    expect(await tea.registry.request('registry.heartbeat')).toEqual({ status: 'healthy', unhealthy_after: 90 })
    expect((await registry.discover()).agents).toMatchObject([{ status: 'healthy' }])
    await expect(tea.registry.request('registry.heartbeat', { status: 'so-so' })).rejects.toMatchObject({
      code: 'INVALID_STATUS',
    })
    const shop = await agent('shop-agent', ['shopping'], { endpoint: undefined })
    await expect(shop.registry.request('registry.heartbeat')).rejects.toMatchObject({ code: 'NOT_REGISTERED' })
  })

  it('a goodbye removes the agent, and followers receive every change', async () => {
    const { agent, registry } = await place()
    const leaving = new AbortController()
    const changes = registry.follow({ signal: leaving.signal })
    const tea = await agent('tea-agent', ['tea'])
    await tea.registry.request('registry.heartbeat', { status: 'unhealthy' })
    await tea.registry.goodbye()
    const received: string[] = []
    for await (const change of changes) {
      if (received.push('id' in change ? `${change.type} ${change.id}` : change.type) === 3) leaving.abort()
    }
    expect(received).toEqual(['registered tea-agent', 'status tea-agent', 'removed tea-agent'])
    expect((await registry.discover()).total_count).toBe(0)
  })

  it('a probe marks an agent healthy or unhealthy', async () => {
    const { agent, registry } = await place()
    await agent('tea-agent', ['tea'])
    await agent('gone-agent', ['tea'], { endpoint: await nowhere() })
    expect(await registry.probe('tea-agent')).toBe(true)
    expect(await registry.probe('gone-agent')).toBe(false)
    expect(await registry.probe('no-agent')).toBe(false)
    expect((await registry.discover({ filters: { status: 'healthy' } })).agents).toMatchObject([
      { agent_id: 'tea-agent' },
    ])
  })

  it('maintenance probes silent agents if probe is set', async () => {
    let time = Date.now()
    const { agent, registry } = await place({ now: () => time, probe: { every: 60_000 }, maintenance: false })
    await agent('tea-agent', ['tea'], {}, { now: () => time })
    await agent('gone-agent', ['tea'], { endpoint: await nowhere() }, { now: () => time })
    time += 80_000
    await registry.maintain()
    const { agents } = await registry.discover()
    expect(agents).toMatchObject([
      { agent_id: 'gone-agent', status: 'unhealthy' },
      { agent_id: 'tea-agent', status: 'healthy', last_heartbeat: new Date(time).toISOString() },
    ])
  })

  it('a mesh peer searches the registry by skill and text', async () => {
    const { agent } = await place()
    const tea = await agent('tea-agent', ['tea', 'prices'])
    const query = { skill: 'tea', text: 'agen', max_results: 5 }
    expect(await tea.registry.request('registry.search', query)).toMatchObject({
      agents: [{ id: 'tea-agent', kind: 'mesh', status: 'healthy', capabilities: ['tea', 'prices'] }],
      total_count: 1,
      query_time_ms: expect.any(Number),
    })
    await expect(tea.registry.request('registry.search', { max_results: 0 })).rejects.toMatchObject({
      code: 'INVALID_QUERY',
    })
    await expect(tea.registry.request('registry.search', { skill: { odd: true } })).rejects.toMatchObject({
      code: 'INVALID_QUERY',
    })
  })

  it('find returns links with an established session and skips unreachable peers', async () => {
    const { agent, registry } = await place()
    await agent('a-agent', ['tea'], { endpoint: await nowhere() })
    await agent('b-agent', ['tea'], {}, { methods: { pour: () => ({ cups: 2 }) } })
    const found = await registry.find({ capability: 'tea' }).first()
    if (found?.kind !== 'mesh') return expect.fail('no peer was found')
    expect(found.link.session.state).toBe('established')
    expect(await found.link.request('pour')).toEqual({ cups: 2 })
    expect((await registry.discover({ filters: { status: 'unhealthy' } })).agents).toMatchObject([
      { agent_id: 'a-agent' },
    ])
  })

  it('no agent can register with the id of the registry', async () => {
    const { endpoint, registry } = await place({ requireAuth: false })
    const payload = { agent_card: meshCard('registry', { metadata: { endpoint: 'http://127.0.0.1:8081/mesh' } }) }
    const to = { sender_id: 'registry', recipient_id: 'registry' }
    const { body } = await post(endpoint, JSON.stringify(meshRequest({ ...to, message_type: 'handshake', payload })))
    expect(body.payload).toMatchObject({
      accepted: false,
      reason: 'The agent_id registry is reserved for the registry itself.',
    })
    expect((await registry.discover()).total_count).toBe(0)
  })

  it('an endpoint that the registry may not call is rejected', async () => {
    const { agent } = await place({ fetch: guarded({ loopback: 'refuse' }) })
    await expect(agent('tea-agent', ['tea'])).rejects.toMatchObject({ code: 'FORBIDDEN' })
    await expect(agent('odd-agent', ['tea'], { endpoint: 'file:///etc/passwd' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })

  it('a card with a key other than the signing key is rejected', async () => {
    const [known, shown] = [await generateSigningKey(), await generateSigningKey()]
    const { agent, registry } = await place({ keys: await configuredKeys({ 'tea-agent': known.jwk }) })
    await expect(agent('tea-agent', ['tea'], { public_key: shown.jwk }, { key: known })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      message: 'metadata.public_key is not the key that signed the handshake.',
    })
    expect((await registry.discover()).total_count).toBe(0)
  })

  it('a lookup returns the card of an agent with its key', async () => {
    const { agent } = await place()
    const tea = await agent('tea-agent', ['tea'])
    const { agent_card: card } = await tea.registry.request('registry.lookup', { agent_id: 'tea-agent' })
    expect(card).toMatchObject({ agent_id: 'tea-agent', metadata: { public_key: { x: tea.key.jwk.x } } })
    await expect(tea.registry.request('registry.lookup', { agent_id: 'no-agent' })).rejects.toMatchObject({
      code: 'UNKNOWN_AGENT',
    })
  })

  it('messages that the agent did not sign cannot remove or replace it', async () => {
    const { agent, endpoint, registry } = await place({ requireAuth: false })
    await agent('tea-agent', ['tea'])
    const to = { sender_id: 'tea-agent', recipient_id: 'registry' }
    await post(endpoint, JSON.stringify(meshRequest({ ...to, message_type: 'goodbye', payload: {} })))
    expect((await registry.discover()).total_count).toBe(1)
    const metadata = { endpoint: 'http://127.0.0.1:9/mesh' }
    const payload = { agent_card: meshCard('tea-agent', { metadata }) }
    const { body } = await post(endpoint, JSON.stringify(meshRequest({ ...to, message_type: 'handshake', payload })))
    expect(body.payload).toMatchObject({ accepted: false })
    const thief = await generateSigningKey()
    const goodbye = await signEnvelope(meshRequest({ ...to, message_type: 'goodbye', payload: {} }), thief)
    expect((await post(endpoint, JSON.stringify(goodbye))).status).toBe(401)
    expect((await registry.discover()).total_count).toBe(1)
  })
})

function guarded(options: Parameters<typeof createGuardedFetch>[0]) {
  const fetch = createGuardedFetch(options)
  onTestFinished(() => fetch.close())
  return fetch
}

/** An endpoint without a server. */
async function nowhere(): Promise<string> {
  const server = createServer()
  const port = await listenOnFreePort(server)
  server.close()
  return `http://127.0.0.1:${port}/mesh`
}

/** A registry on loopback, and a function that registers agents. */
async function place(more: Partial<RegistryOptions> = {}) {
  const key = await generateSigningKey()
  const fetch = guarded({ loopback: 'allow' })
  const registry = createRegistry({ key, firstHandshake: firstHandshakeKeys(), fetch, logger: silentLogger, ...more })
  onTestFinished(() => registry.close())
  const { endpoint } = await startMeshServer(registry.peer)

  async function agent(
    id: string,
    capabilities: readonly string[],
    metadata: { readonly endpoint?: string | undefined; readonly public_key?: JsonWebKey } = {},
    options: Partial<MeshPeerOptions> = {},
  ) {
    const own = await generateSigningKey()
    let peer = createMeshPeer({ card: meshCard(id), requireAuth: false })
    const { endpoint: mine } = await startMeshServer({ ...peer, exchange: (incoming) => peer.exchange(incoming) })
    const shown = JSON.parse(JSON.stringify({ endpoint: mine, ...metadata }))
    peer = createMeshPeer({
      card: meshCard(id, { capabilities: [...capabilities], metadata: shown }),
      key: own,
      keys: await configuredKeys({ registry: key.jwk }),
      firstHandshake: firstHandshakeKeys(),
      logger: silentLogger,
      ...options,
    })
    const link = peer.link({ agentId: 'registry', endpoint })
    await link.handshake()
    return { peer, registry: link, endpoint: mine, key: own }
  }
  return { registry, endpoint, agent }
}
