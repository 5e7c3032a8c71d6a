import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { AgentProfile } from '../../src/core/agent/agent.ts'
import { connect } from '../../src/core/client/connect.ts'
import { toListener } from '../../src/core/node/listener.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import {
  configuredKeys,
  createMeshPeer,
  generateSigningKey,
  type MeshLink,
  type MeshSocket,
} from '../../src/entries/mesh.ts'
import { createGuardedFetch } from '../../src/entries/node.ts'
import { createRegistry } from '../../src/entries/registry.ts'
import type { ServeMeshOptions, ServeOptions } from '../../src/serve/options.ts'
import { serve } from '../../src/serve/serve.ts'
import { selfSigned } from '../support/auth/certificates.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard, meshRequest, post } from '../support/mesh/mesh-peers.ts'
import { listenOnFreePort } from '../support/servers/http-server.ts'
import { startTestServer, type TestServer } from '../support/servers/test-server.ts'

const [agentKey, shopKey, registryKey] = await Promise.all([0, 1, 2].map(() => generateSigningKey()))
if (!agentKey || !shopKey || !registryKey) throw new Error('a key is missing')
const keys = await configuredKeys({
  'tea-prices': agentKey.jwk,
  'shop-agent': shopKey.jwk,
  registry: registryKey.jwk,
})

const profile: AgentProfile = { name: 'Tea Prices', skills: [{ id: 'price', name: 'Price', tags: ['tea'] }] }
const shop = createMeshPeer({ card: meshCard('shop-agent'), key: shopKey, keys, logger: silentLogger })

function start(mesh: Partial<ServeMeshOptions> = {}, options: Partial<ServeOptions> = {}): Promise<TestServer> {
  const said = ({ text, principal }: { text: string; principal: { id: string } }) => `${principal.id} said ${text}`
  return startTestServer(said, { profile, mesh: { key: agentKey, keys, ...mesh }, ...options })
}

function linkTo({ server }: TestServer, path = '/mesh'): MeshLink {
  return shop.link({ agentId: 'tea-prices', endpoint: `${server.url}${path}` })
}

const saying = (text: string) => ({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] } })

describe('an agent served with the mesh option', () => {
  it('one port serves signed envelopes and A2A', async () => {
    const place = await start()
    const link = linkTo(place)
    const session = await link.handshake()
    expect(session.card).toMatchObject({
      agent_id: 'tea-prices',
      capabilities: ['price', 'tea'],
      metadata: { endpoint: `${place.server.url}/mesh` },
    })
    expect(await link.request('price', { text: 'TEA' })).toEqual({ text: 'mesh:shop-agent said TEA' })
    expect((await (await connect(place.server.url)).send('TEA')).text).toBe('anonymous said TEA')
    expect(place.server.mesh?.agentId).toBe('tea-prices')
    expect((await fetch(`${place.server.url}/mesh`)).status).toBe(405)
  })

  it('agentId, path and methods can be configured', async () => {
    const methods = { ping: () => ({ pong: true }) }
    const place = await start({ agentId: 'tea-agent', path: '/peers', methods })
    const other = createMeshPeer({
      card: meshCard('shop-agent'),
      key: shopKey,
      keys: await configuredKeys({ 'tea-agent': agentKey.jwk }),
    })
    const link = other.link({ agentId: 'tea-agent', endpoint: `${place.server.url}/peers` })
    expect(await link.request('ping')).toEqual({ pong: true })
    expect((await post(`${place.server.url}/mesh`, '{}')).status).toBe(404)
  })

  it.each([
    ['the global WebSocket', undefined],
    ['the package ws', (url: string): MeshSocket => new WebSocket(url)],
  ])('WebSockets of %s use the same port, also with gRPC, and end when the server closes', async (_, open) => {
    const sockets = new WebSocketServer({ noServer: true, maxPayload: 10 * 2 ** 20 })
    const place = await start({ sockets }, { grpc: true })
    const url = `${place.server.url.replace('http', 'ws')}/mesh`
    const link = shop.connect({ agentId: 'tea-prices', url, ...(open && { open }) })
    onTestFinished(() => link.close())
    const said = await Promise.all(['a', 'b', 'c'].map((text) => link.request('price', { text })))
    expect(said).toEqual(['a', 'b', 'c'].map((text) => ({ text: `mesh:shop-agent said ${text}` })))
    expect((await (await connect(place.server.url)).send('TEA')).text).toBe('anonymous said TEA')
    expect(sockets.clients.size).toBe(1)
    await place.server.close()
    await expect.poll(() => sockets.clients.size).toBe(0)
  })

  it('WebSockets from browser pages and at other paths are refused, and other upgrades are ignored', async () => {
    const { server } = await start({ sockets: new WebSocketServer({ noServer: true }) })
    const url = server.url.replace('http', 'ws')
    for (const socket of [
      new WebSocket(`${url}/mesh`, { origin: 'https://evil.example' }),
      new WebSocket(`${url}/other`),
    ]) {
      const [error] = await once(socket, 'error')
      expect(error.message).toMatch(/Unexpected server response: 40/)
    }
    const headers = { connection: 'upgrade, http2-settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
    const asked = request(`${server.url}/healthz`, { headers }).end()
    const [response] = await once(asked, 'response')
    response.resume()
    expect(response.statusCode).toBe(200)
  })

  it('the rate limits of the server apply to peers', async () => {
    const place = await start({}, { limits: { perPrincipal: { requests: { limit: 1, per: 60_000 } } } })
    const link = linkTo(place)
    await link.request('a2a.list')
    await expect(link.request('a2a.list')).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfter: expect.any(Number),
    })
  })

  it('an overloaded server refuses peers with a retry time', async () => {
    const link = linkTo(await start({}, { http: { overload: { heap: 0.000_001 } } }))
    await expect(link.request('a2a.list')).rejects.toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfter: 1 })
  })

  it('peers connect over TLS', async () => {
    const sockets = new WebSocketServer({ noServer: true })
    const { server } = await start({ sockets }, { tls: selfSigned() })
    const url = `${server.url.replace('https', 'wss')}/mesh`
    const open = (address: string): MeshSocket => new WebSocket(address, { rejectUnauthorized: false })
    const link = shop.connect({ agentId: 'tea-prices', url, open })
    onTestFinished(() => link.close())
    expect((await link.handshake()).card.metadata?.endpoint).toBe(`${server.url}/mesh`)
    expect(await link.request('price', { text: 'TEA' })).toEqual({ text: 'mesh:shop-agent said TEA' })
  })

  it('peers need the scopes of a skill', async () => {
    const auth = { schemes: { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-secret-key-1') }] }) } }
    const skills = [{ id: 'price', name: 'Price', security: [{ key: ['read'] }] }]
    const options = { auth, profile: { ...profile, skills } }
    await expect(linkTo(await start({}, options)).request('price', { text: 'TEA' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
      details: { reason: 'FORBIDDEN' },
    })
    const named = { schemes: { mesh: auth.schemes.key } }
    const sameName = {
      auth: named,
      profile: { ...profile, skills: [{ ...skills[0], id: 'price', name: 'Price', security: [{ mesh: [] }] }] },
    }
    await expect(linkTo(await start({}, sameName)).request('price', { text: 'TEA' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
    const granting = await start({ principalOf: ({ from }) => ({ id: from, grants: { key: ['read'] } }) }, options)
    expect(await linkTo(granting).request('price', { text: 'TEA' })).toEqual({ text: 'shop-agent said TEA' })
  })

  it('unsigned messages are accepted only if anonymous callers are', async () => {
    const auth = { schemes: { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-secret-key-1') }] }) } }
    const payload = { method: 'a2a.send', parameters: saying('TEA') }
    const unsigned = () => JSON.stringify(meshRequest({ recipient_id: 'tea-prices', payload }))
    const statuses = await Promise.all(
      [await start({ requireAuth: false }), await start({ requireAuth: false }, { auth }), await start()].map(
        async ({ server }) => (await post(`${server.url}/mesh`, unsigned())).status,
      ),
    )
    expect(statuses).toEqual([200, 401, 401])
  })

  it('serve rejects mesh with several agents or without a key', async () => {
    const { agent } = await import('../../src/core/agent/agent.ts')
    const echo = agent({ name: 'Echo' }, ({ text }) => text)
    const options = { signals: false, logger: silentLogger }
    await expect(serve({ '/a': echo, '/b': echo }, { ...options, mesh: { key: agentKey, keys } })).rejects.toThrow(
      'only one agent',
    )
    await expect(start({ key: undefined })).rejects.toThrow('give a key')
  })
})

describe('an agent served with a mesh registry', () => {
  /** A registry that can be stopped and replaced at a fixed endpoint. */
  async function registryPlace() {
    const fetch = createGuardedFetch({ loopback: 'allow' })
    const make = () => createRegistry({ key: registryKey, keys, fetch, logger: silentLogger, maintenance: false })
    let registry: ReturnType<typeof make> | undefined
    const server = createServer(
      toListener(async (incoming) => (await registry?.peer.exchange(incoming)) ?? { status: 503, headers: {} }),
    )
    const port = await listenOnFreePort(server)
    onTestFinished(async () => {
      server.closeAllConnections()
      server.close()
      await registry?.close()
      fetch.close()
    })
    return {
      endpoint: `http://127.0.0.1:${port}/mesh`,
      async begin() {
        await registry?.close()
        registry = make()
        return registry
      },
      async end() {
        await registry?.close()
        registry = undefined
      },
    }
  }

  it('the agent is registered from start to close', async () => {
    const { endpoint, begin } = await registryPlace()
    const registry = await begin()
    const { server } = await start({ registry: { endpoint } })
    expect(await shop.link({ agentId: 'registry', endpoint }).discover({ capabilities: ['tea'] })).toMatchObject({
      agents: [{ agent_id: 'tea-prices', endpoint: `${server.url}/mesh`, status: 'healthy' }],
    })
    expect(await registry.probe('tea-prices')).toBe(true)
    await server.close()
    expect((await registry.discover()).total_count).toBe(0)
  })

  it('the agent starts without the registry, registers later, and registers again after the registry lost its entries', async () => {
    const { endpoint, begin } = await registryPlace()
    await start({ registry: { endpoint, heartbeat: 20 } })
    const first = await begin()
    await expect.poll(async () => (await first.discover()).total_count, { timeout: 5_000 }).toBe(1)
    const second = await begin()
    await expect.poll(async () => (await second.discover()).total_count, { timeout: 5_000 }).toBe(1)
  })

  it('the agent closes although the registry is unreachable', async () => {
    const { endpoint, begin, end } = await registryPlace()
    const registry = await begin()
    const warnings: string[] = []
    const logger = { ...silentLogger, warn: (_: object, text: string) => void warnings.push(text) }
    const { server } = await start({ registry: { endpoint } }, { logger })
    expect((await registry.discover()).total_count).toBe(1)
    await end()
    await server.close()
    expect(warnings).toEqual(['the mesh registry did not receive the goodbye'])
    await expect(fetch(server.url)).rejects.toThrow()
  })
})
