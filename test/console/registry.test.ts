import { expect, it } from 'vitest'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { createOperatorClient } from '../../src/entries/operator.ts'
import { startRegistryServer } from '../registry/registry-fixtures.ts'
import { startTestServer } from '../support/servers/test-server.ts'

async function start() {
  const { url, registry } = await startRegistryServer()
  return { url, registry, operator: createOperatorClient({ url: `${url}/console` }) }
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

it('a proxy does not open the console of a registry to other machines', async () => {
  const { url } = await start()
  const headers = { 'x-forwarded-for': '203.0.113.7' }
  expect((await fetch(`${url}/console/api/v1/session`, { headers })).status).toBe(404)
})

it('a registry with auth has no console', async () => {
  const keys = [{ id: 'ada', hash: await hashApiKey('ada-secret-key-1') }]
  const { url } = await startRegistryServer({ auth: { schemes: { key: apiKey({ keys }) } } })
  expect((await fetch(`${url}/console/api/v1/session`)).status).toBe(404)
})
