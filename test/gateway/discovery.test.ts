import type { RequestListener } from 'node:http'
import { expect, it } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import { connect } from '../../src/entries/client.node.ts'
import { bearer } from '../../src/entries/client-auth.ts'
import { agent } from '../../src/entries/index.ts'
import { startRegistryServer } from '../registry/registry-fixtures.ts'
import { deferred, until } from '../support/async.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { startGateway } from './support.ts'

const loopback = { allow: ['127.0.0.1', 'localhost'] }

interface Entry {
  readonly identifier: string
  readonly url?: string
  readonly data?: object
  readonly tags?: readonly string[]
  readonly mediaType?: string
}

/** A catalog whose entries a test changes. Its requests are counted. */
async function startCatalog(entries: readonly Entry[]) {
  const state = { entries, status: 200, requests: 0 }
  const listener: RequestListener = (_, response) => {
    state.requests++
    response.writeHead(state.status, { 'content-type': 'application/json' })
    const listed = state.entries.map((entry) => ({
      displayName: entry.identifier,
      mediaType: 'application/a2a-agent-card+json',
      ...entry,
    }))
    response.end(JSON.stringify({ specVersion: '1.0', entries: listed }))
  }
  return { url: await startHttpServer(listener), state }
}

const cardUrl = (url: string) => `${url}/.well-known/agent-card.json`

it('agents of a catalog appear and disappear without cutting a stream', async () => {
  const finish = deferred()
  async function slow(turn: Turn): Promise<void> {
    const out = turn.artifact('out')
    await out.write('first')
    await finish.promise
    await out.close(', last')
    await turn.status('completed')
  }
  const { server: one } = await startTestServer(slow, { profile: { name: 'Slow' } })
  const { server: two } = await startTestServer(async () => 'two', { profile: { name: 'Two' } })
  const first = { identifier: 'urn:a2a:slow', url: cardUrl(one.url), tags: ['public'] }
  const second = { identifier: 'urn:a2a:two', url: cardUrl(two.url), tags: ['public', 'new'] }
  const hidden = { identifier: 'urn:a2a:hidden', url: cardUrl(two.url), tags: ['internal'] }
  const { url, state } = await startCatalog([first, hidden])
  const from = [{ catalog: url, filter: { tag: 'public' }, options: loopback }]
  const gateway = await startGateway({ agents: {}, from, drainDeadline: 0 })
  expect(gateway.agents()).toMatchObject([
    { name: 'slow', state: 'ready', source: `${url}/.well-known/ai-catalog.json` },
  ])
  const client = await connect(`${gateway.url}/slow`)
  let text = ''
  for await (const event of client.stream('go')) {
    if (event.type !== 'artifact') continue
    for (const part of event.artifact.parts) text += 'text' in part ? part.text : ''
    if (text !== 'first') continue
    state.entries = [second]
    await gateway.refresh()
    expect(gateway.agents().map(({ name }) => name)).toEqual(['two'])
    expect((await (await connect(`${gateway.url}/two`)).send('hi')).text).toBe('two')
    finish.resolve()
  }
  expect(text).toBe('first, last')
  await expect(connect(`${gateway.url}/slow`)).rejects.toThrow()
  // A catalog that cannot be read takes nothing away.
  state.status = 500
  await gateway.refresh()
  expect(gateway.agents().map(({ name }) => name)).toEqual(['two'])
})

it('a catalog is read again by itself', async () => {
  const { server } = await startTestServer(async () => 'hi', { profile: { name: 'Hi' } })
  const { url, state } = await startCatalog([])
  const gateway = await startGateway({ agents: {}, from: [{ catalog: url, options: loopback, refresh: 100 }] })
  expect(gateway.agents()).toEqual([])
  state.entries = [{ identifier: 'urn:a2a:hi', url: cardUrl(server.url) }]
  await until(() => gateway.agents().some(({ state: each }) => each === 'ready'))
  expect((await (await connect(`${gateway.url}/hi`)).send('x')).text).toBe('hi')
})

it('no address that a catalog names is called unless it is public, allowed, or of the catalog itself', async () => {
  const inner = await startCatalog([])
  const { server: canary, url: canaryUrl } = await startCanary()
  const card = {
    ...{ name: 'Inline', description: '', version: '1', capabilities: {}, skills: [] },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    supportedInterfaces: [{ url: canaryUrl, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  }
  const { url } = await startCatalog([
    { identifier: 'urn:a2a:private', url: cardUrl(canaryUrl) },
    { identifier: 'urn:a2a:metadata', url: 'http://169.254.169.254/card.json' },
    { identifier: 'urn:a2a:inline', data: card },
  ])
  const gateway = await startGateway({ agents: {}, from: [{ catalog: url }] })
  expect(gateway.agents().map(({ name, state }) => [name, state])).toEqual([
    ['private', 'unreachable'],
    ['metadata', 'unreachable'],
    ['inline', 'ready'],
  ])
  const client = await connect(`${gateway.url}/inline`)
  await expect(client.send('x')).rejects.toMatchObject({ code: 'unavailable' })
  const nested = await startCatalog([
    { identifier: 'urn:a2a:nested', url: inner.url, mediaType: 'application/ai-catalog+json' },
  ])
  await startGateway({ agents: {}, from: [{ catalog: nested.url }] })
  expect([inner.state.requests, canary.requests]).toEqual([0, 0])
})

async function startCanary() {
  const server = { requests: 0 }
  const url = await startHttpServer((_, response) => {
    server.requests++
    response.end('{}')
  })
  return { server, url }
}

it('a catalog cannot take the name of another agent, nor get credentials for any host', async () => {
  const { server } = await startTestServer(async () => 'ours', { profile: { name: 'Ours' } })
  const { server: theirs } = await startTestServer(async () => 'theirs', { profile: { name: 'Theirs' } })
  const { url } = await startCatalog([{ identifier: 'urn:a2a:prices', url: cardUrl(theirs.url) }])
  const from = [{ catalog: url, options: loopback }]
  const gateway = await startGateway({ agents: { prices: server.url }, from })
  expect((await (await connect(`${gateway.url}/prices`)).send('x')).text).toBe('ours')
  const unsafe = [{ catalog: url, options: { ...loopback, auth: [bearer('secret')] } }]
  await expect(gateway.update({ agents: {}, from: unsafe })).rejects.toThrow('from[0].options.auth')
  const elsewhere = [{ ...unsafe[0], catalog: url, filter: { host: '*.example.com' } }]
  await gateway.update({ agents: { prices: server.url }, from: elsewhere })
  expect(gateway.agents()).toHaveLength(1)
})

it('agents of a registry are found by skill and tag', async () => {
  const skills = [{ id: 'price', name: 'Price', tags: ['shop'] }]
  const { server: shop } = await startTestServer(async () => 'shop', { profile: { name: 'Shop', skills } })
  const { server: other } = await startTestServer(async () => 'other', { profile: { name: 'Other' } })
  const { url, registry } = await startRegistryServer()
  for (const { url: target } of [shop, other]) await registry.add(target)
  const gateway = await startGateway({
    agents: { local: { agent: agent({ name: 'Local' }, () => 'local') } },
    from: [{ registry: url, filter: { skill: 'price', tag: ['shop'] }, options: loopback }],
  })
  const [, listed] = gateway.agents()
  expect(gateway.agents()).toHaveLength(2)
  expect((await (await connect(listed?.url ?? '')).send('x')).text).toBe('shop')
  await registry.remove((await registry.search()).agents.find(({ name }) => name === 'Shop')?.id ?? '')
  await gateway.refresh()
  expect(gateway.agents()).toHaveLength(1)
})
