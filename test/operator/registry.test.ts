import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { createOperatorClient } from '../../src/entries/operator.ts'
import { createSqliteRegistryStore } from '../../src/entries/sqlite.ts'
import type { ServeRegistryOptions } from '../../src/serve/serve-registry.ts'
import { startRegistryServer } from '../registry/registry-fixtures.ts'
import { operatorOf } from '../support/servers/operator-login.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

async function start() {
  const server = await startRegistryServer()
  return { ...server, operator: operatorOf(server) }
}

it('the console of a registry adds, lists, searches and probes agents', async () => {
  const { operator } = await start()
  expect((await operator.session()).server.features).toEqual(['registry'])
  expect(await operator.registryAgents()).toEqual({ agents: [] })
  const { server } = await startTestServer(() => 'hello', { profile: { name: 'Tea shop', description: 'Sells tea.' } })
  const added = await operator.addToRegistry(server.url)
  expect(added).toMatchObject({ kind: 'a2a', name: 'Tea shop', health: 'up', probes: [] })
  expect((await operator.registryAgents({ search: 'tea' })).agents).toEqual([added])
  expect((await operator.registryAgents({ search: 'coffee' })).agents).toEqual([])
  const probed = await operator.probe(added.id)
  expect(probed.probes).toEqual([{ at: expect.any(Number), isUp: true, latency: expect.any(Number) }])
  await server.close()
  const down = await operator.probe(added.id)
  expect(down.probes).toMatchObject([{ isUp: true }, { isUp: false, problem: expect.any(String) }])
  expect(down.health).toBe('down')
  expect((await operator.registryAgents()).agents).toEqual([down])
})

it('a registry keeps 100 probes of an agent, also those of its own maintenance', async () => {
  const { operator, registry } = await start()
  const { server } = await startTestServer(() => 'hello')
  const { id } = await operator.addToRegistry(server.url)
  for (let count = 0; count < 101; count++) await registry.probe(id)
  const [agent] = (await operator.registryAgents()).agents
  expect(agent?.probes).toHaveLength(100)
})

it('wrong requests to the registry are refused with a reason', async () => {
  const { url, operator } = await start()
  await expect(operator.probe('none')).rejects.toMatchObject({ status: 404 })
  await expect(operator.addToRegistry('no address')).rejects.toMatchObject({ status: 400 })
  await expect(operator.registryAgents({ cursor: 'x' })).rejects.toMatchObject({ status: 400 })
  expect((await fetch(`${url}/console/api/v1/registry/agents`, { method: 'POST', body: '{}' })).status).toBe(403)
  expect((await fetch(`${url}/agents`)).status).toBe(200)
})

it('a registry opens its console by its key only, with and without auth', async () => {
  const keys = [{ id: 'ada', hash: await hashApiKey('ada-secret-key-1') }]
  for (const options of [{}, { auth: { schemes: { key: apiKey({ keys }) } } }]) {
    const server = await startRegistryServer(options)
    const requests: Record<string, string>[] = [
      {},
      { 'x-forwarded-for': '203.0.113.7' },
      { 'x-api-key': 'ada-secret-key-1' },
    ]
    for (const headers of requests) {
      expect((await fetch(`${server.url}/console/api/v1/session`, { headers })).status).toBe(401)
    }
    expect(await operatorOf(server).session()).toMatchObject({ role: 'operator', principal: { id: 'operator' } })
  }
})

describe('the console of a registry with operators', () => {
  async function startWithOperators(options: ServeRegistryOptions = {}) {
    const keys = [
      { id: 'olga', hash: await hashApiKey('operator-key') },
      { id: 'vera', hash: await hashApiKey('viewer-key-1') },
      { id: 'nora', hash: await hashApiKey('nobody-key-1') },
    ]
    const roles = ({ id }: { readonly id: string }) =>
      id === 'olga' ? 'operator' : id === 'vera' ? 'viewer' : undefined
    const { url } = await startRegistryServer({
      ...{ host: '0.0.0.0', auth: 'none', console: { auth: { schemes: { key: apiKey({ keys }) } }, roles } },
      ...options,
    })
    const local = url.replace('0.0.0.0', '127.0.0.1')
    const as = (key: string) => createOperatorClient({ url: `${local}/console`, headers: { 'x-api-key': key } })
    return { url: local, operator: as('operator-key'), viewer: as('viewer-key-1'), stranger: as('nobody-key-1') }
  }

  it('needs a login, and viewers cannot act', async () => {
    const { url, operator, viewer, stranger } = await startWithOperators()
    const refused = await fetch(`${url}/console/api/v1/registry/agents`)
    expect([refused.status, await refused.json()]).toEqual([
      401,
      { error: expect.objectContaining({ schemes: [{ name: 'key', fields: 'secret' }] }) },
    ])
    expect(await operator.session()).toMatchObject({ role: 'operator', principal: { id: 'olga' } })
    expect(await viewer.registryAgents()).toEqual({ agents: [] })
    await expect(stranger.session()).rejects.toMatchObject({ status: 403 })
    await expect(viewer.addToRegistry('https://agent.example')).rejects.toMatchObject({ status: 403 })
    await expect(viewer.probe('x')).rejects.toMatchObject({ status: 403 })
    await expect(operator.probe('x')).rejects.toMatchObject({ status: 404 })
  })

  it('keeps sessions and probes in the store, so that every replica has them after a restart', async () => {
    const file = join(await temporaryDirectory(), 'registry.db')
    const open = () => {
      const entries = createSqliteRegistryStore({ file })
      onTestFinished(() => entries.close())
      return entries
    }
    const { server } = await startTestServer(() => 'hello', { profile: { name: 'Tea shop' } })
    const one = await startWithOperators({ host: '127.0.0.1', entries: open() })
    const two = await startWithOperators({ host: '127.0.0.1', entries: open() })
    const login = await fetch(`${one.url}/console/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-parley-console': '1' },
      body: JSON.stringify({ scheme: 'key', secret: 'operator-key' }),
    })
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const { id } = await one.operator.addToRegistry(server.url)
    await one.operator.probe(id)
    const [row] = (await two.viewer.registryAgents()).agents
    expect(row?.probes).toEqual([{ at: expect.any(Number), isUp: true, latency: expect.any(Number) }])
    const later = await startWithOperators({ host: '127.0.0.1', entries: open() })
    const again = createOperatorClient({ url: `${later.url}/console`, headers: { cookie } })
    expect(await again.session()).toMatchObject({ principal: { id: 'olga' } })
    expect((await again.registryAgents()).agents).toEqual([row])
  })

  it('is refused if other machines could use it without a login', async () => {
    const options = { host: '0.0.0.0', auth: 'none', console: { auth: 'none' } } as const
    await expect(startRegistryServer(options)).rejects.toThrow('serveRegistry(): console.auth')
    await expect(startRegistryServer({ console: { rolls: 1 } as never })).rejects.toThrow('rolls')
    const { url } = await startRegistryServer({ console: false })
    expect((await fetch(`${url}/console/api/v1/session`)).status).toBe(404)
  })
})
