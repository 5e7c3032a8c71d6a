import { describe, expect, it } from 'vitest'
import { createCardVerifier } from '../../src/core/auth/card-signature/verify-card.ts'
import { apiKey as apiKeys, createKeyRing, hashApiKey, newSigningKey } from '../../src/entries/auth.ts'
import { apiKeyCredentials } from '../../src/entries/client-auth.ts'
import { createVirtualClock } from '../../src/entries/testing.ts'
import { closedPort, startHttpServer } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { cardAt, createTestRegistry, teaProfile } from './registry-fixtures.ts'

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error) => error,
  )

describe('A2A agents in a registry', () => {
  it('an agent is added by its URL and listed with the results of its checks', async () => {
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    const registry = createTestRegistry()
    const listed = await registry.add(server.url)
    expect(listed).toMatchObject({
      id: server.cardUrl,
      kind: 'a2a',
      name: 'Tea shop',
      version: '1.2.3',
      cardUrl: server.cardUrl,
      status: 'healthy',
      skills: [{ id: 'brew', tags: ['Kitchen', 'drinks'] }],
      seen: { reachable: { ok: true, latency: expect.any(Number) }, conforms: { ok: true } },
    })
    expect(listed.endpoint).toContain(server.url)
    expect(listed.seen).not.toHaveProperty('completed')
    expect((await registry.add(server.cardUrl)).id).toBe(listed.id)
    expect((await registry.search()).totalCount).toBe(1)
  })

  it('search finds agents by skill, tag, text and capability, in pages', async () => {
    const registry = createTestRegistry()
    const names = ['Anna', 'Berta', 'Clara']
    for (const name of names) {
      const skills = [...teaProfile.skills, { id: `of-${name}`, name, description: '', tags: [] }]
      const { server } = await startTestServer(() => 'hot', { profile: { ...teaProfile, name, skills } })
      await registry.add(server.url)
    }
    const namesOf = async (query: Parameters<typeof registry.search>[0]) =>
      (await registry.search(query)).agents.map(({ name }) => name)
    expect(await namesOf({ skill: 'BREW' })).toEqual(names)
    expect(await namesOf({ skill: 'Brew a pot', tag: ['kitchen', 'DRINKS'] })).toEqual(names)
    expect(await namesOf({ skill: ['brew', 'of-Berta'] })).toEqual(['Berta'])
    expect(await namesOf({ text: 'gardens clar' })).toEqual(['Clara'])
    expect(await namesOf({ text: 'gardens coffee' })).toEqual([])
    expect(await namesOf({ capability: 'streaming', status: 'healthy', kind: 'a2a' })).toEqual(names)
    expect(await namesOf({ capability: 'Streaming' })).toEqual([])
    expect(await namesOf({ kind: 'mesh' })).toEqual([])
    const first = await registry.search({ limit: 2 })
    expect(first).toMatchObject({ totalCount: 3, nextCursor: expect.any(String), queryTimeMs: expect.any(Number) })
    const second = await registry.search({ limit: 2, cursor: first.nextCursor ?? '' })
    expect(second.agents.map(({ name }) => name)).toEqual(['Clara'])
    expect(second).not.toHaveProperty('nextCursor')
    for (const query of [
      { limit: 0 },
      { limit: 101 },
      { cursor: '§' },
      { text: 'word '.repeat(2) + [...'abcdefghijklmnopqrstuvwxyz'].join(' ') },
    ]) {
      await expect(registry.search(query)).rejects.toMatchObject({ code: 'invalid-params' })
    }
  })

  it('find connects to the best agent first and skips unreachable ones', async () => {
    const registry = createTestRegistry({ probe: { message: 'Are you there?' } })
    const agents = await Promise.all(
      ['Fails', 'Works', 'Gone'].map((name) =>
        startTestServer((turn) => (name === 'Fails' ? turn.status('failed', 'No.') : `${name}: ${turn.text}`), {
          profile: { ...teaProfile, name },
        }),
      ),
    )
    for (const { server } of agents) await registry.add(server.url)
    await registry.maintain()
    await agents[2]?.server.close()
    const names: string[] = []
    for await (const agent of registry.find({ skill: 'brew' })) {
      if (agent.kind === 'a2a') names.push(agent.client.card.name)
    }
    expect(names).toEqual(['Works', 'Fails'])
    expect((await registry.search({ status: 'unhealthy' })).agents.map(({ name }) => name)).toEqual(['Gone'])
    const best = await registry.find({ skill: 'brew' }).first()
    expect(best?.kind === 'a2a' && (await best.client.send('Hi')).text).toBe('Works: Hi')
    expect(best?.agent.seen).toMatchObject({ completed: { ok: true, latency: expect.any(Number) } })
    const { agents: listed } = await registry.search({ text: 'fails' })
    expect(listed).toMatchObject([
      { seen: { completed: { ok: false, problem: 'The task is failed, and not completed.' } } },
    ])
    expect(await registry.find({ skill: 'fly' }).first()).toBeUndefined()
  })

  it('a probe sends an agent only the credentials configured for it', async () => {
    const hash = await hashApiKey('key-of-the-registry')
    const keyed = { schemes: { key: apiKeys({ keys: [{ id: 'registry', hash }] }) } }
    const protectedAgent = await startTestServer(({ principal }) => principal.id, {
      profile: { ...teaProfile, name: 'Closed' },
      auth: keyed,
    })
    const other = await startTestServer(() => 'hi', { profile: { ...teaProfile, name: 'Other' }, auth: keyed })
    const requested: string[] = []
    const registry = createTestRegistry({
      probe: {
        message: 'Are you there?',
        auth({ name, endpoint }) {
          requested.push(name)
          return endpoint.startsWith(protectedAgent.server.url) ? [apiKeyCredentials('key-of-the-registry')] : undefined
        },
      },
    })
    for (const { server } of [protectedAgent, other]) await registry.probe((await registry.add(server.url)).id)
    const { agents } = await registry.search()
    expect(agents).toMatchObject([
      { name: 'Closed', seen: { completed: { ok: true } } },
      { name: 'Other', seen: { completed: { ok: false } } },
    ])
    expect(requested).toEqual(['Closed', 'Other'])
  })

  it('an agent with invalid responses does not conform', async () => {
    const origin = await startHttpServer(({ method }, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(method === 'GET' ? cardAt(origin) : { jsonrpc: '2.0', id: 1, result: { odd: true } }))
    })
    const registry = createTestRegistry({ probe: { message: 'Are you there?', timeout: 5_000 } })
    const { id } = await registry.add(`${origin}/card.json`)
    expect(await registry.probe(id)).toBe(false)
    expect((await registry.search()).agents).toMatchObject([
      { status: 'unhealthy', seen: { reachable: { ok: true }, conforms: { ok: false }, completed: { ok: false } } },
    ])
  })

  it('card signatures are verified with keys from the origin of the card or with trusted keys', async () => {
    const { server } = await startTestServer(() => 'hot', {
      profile: teaProfile,
      keys: createKeyRing(await newSigningKey()),
    })
    expect((await createTestRegistry().add(server.url)).seen).toMatchObject({ signature: { ok: true } })
    const trusting = (keys: object[]) =>
      createTestRegistry({ a2a: { requireSignature: true, verifyCard: createCardVerifier({ keys }) } })
    const jwks = await (await fetch(`${server.url}/.well-known/jwks.json`)).json()
    expect((await trusting(jwks.keys).add(server.url)).seen).toMatchObject({ signature: { ok: true } })
    await expect(trusting([{ ...jwks.keys[0], kid: 'other' }]).add(server.url)).rejects.toMatchObject({
      code: 'invalid-agent-response',
      reason: 'card-verification-failed',
    })
    const { server: plain } = await startTestServer(() => 'hot', { profile: teaProfile })
    await expect(trusting(jwks.keys).add(plain.url)).rejects.toThrow(/not signed/)
  })

  it('an agent with an invalid signature is listed with the failure if signatures are optional', async () => {
    const signatures = [{ protected: 'eyJhbGciOiJFUzI1NiIsImtpZCI6IngifQ', signature: 'AAAA' }]
    const origin = await startHttpServer((_, response) => response.end(JSON.stringify(cardAt(origin, { signatures }))))
    expect((await createTestRegistry().add(`${origin}/card.json`)).seen).toMatchObject({
      conforms: { ok: true },
      signature: { ok: false, problem: expect.stringContaining('none of its signatures is valid') },
    })
  })

  it('an agent with an incomplete card is listed with the violation', async () => {
    const { description: _, ...card } = cardAt('http://127.0.0.1:8081') as Record<string, unknown>
    const url = await startHttpServer((_, response) => response.end(JSON.stringify(card)))
    expect(await createTestRegistry().add(`${url}/card.json`)).toMatchObject({
      status: 'unhealthy',
      seen: { reachable: { ok: true }, conforms: { ok: false, problem: expect.stringContaining('description') } },
    })
  })

  it('hostile agents are refused: private addresses, redirects to them, cards that name them, and oversized cards', async () => {
    const registry = createTestRegistry()
    const routes: Record<string, object | string> = {
      '/away.json': 'http://10.1.2.3/card.json',
      '/metadata.json': 'http://169.254.169.254/latest/meta-data',
      '/name.json': 'http://inside.example/card.json',
      '/inside.json': cardAt('http://10.1.2.3'),
      '/file.json': cardAt('file:///etc/passwd'),
      '/many.json': cardAt('http://127.0.0.1:8081', { skills: Array(501).fill(teaProfile.skills[0]) }),
      '/huge.json': cardAt('http://127.0.0.1:8081', { description: 'x'.repeat(300_000) }),
      '/more.json': cardAt('http://127.0.0.1:8081', { description: 'x'.repeat(2_000_000) }),
      '/odd.json': [1, 2, 3],
      '/mesh.json': { agent_id: 'tea-agent', supported_protocols: ['A2A/1.0'] },
      '/deep.json': { name: 'x', url: 'http://127.0.0.1:8081', a: JSON.parse('['.repeat(100) + ']'.repeat(100)) },
    }
    const origin = await startHttpServer(({ url = '' }, response) => {
      const route = routes[url]
      if (typeof route === 'string') response.writeHead(302, { location: route }).end()
      else response.writeHead(route ? 200 : 404, { 'content-type': 'application/json' }).end(JSON.stringify(route))
    })
    const refusedUrls = [
      'http://10.0.0.1/',
      'http://inside.example/',
      ...['away', 'metadata', 'name', 'inside'].map((name) => `${origin}/${name}.json`),
    ]
    for (const url of refusedUrls) {
      const error = await errorOf(registry.add(url))
      expect(error, url).toMatchObject({ code: 'forbidden' })
      expect(error.message, url).not.toMatch(/10\.1\.2\.3|169\.254/)
    }
    for (const url of ['ftp://x', 'nonsense', `https://x.example/${'x'.repeat(3_000)}`]) {
      await expect(registry.add(url), url.slice(0, 30)).rejects.toMatchObject({ code: 'invalid-params' })
    }
    for (const name of ['many', 'huge', 'more', 'odd', 'mesh', 'deep', 'nothing']) {
      expect(await errorOf(registry.add(`${origin}/${name}.json`)), name).toMatchObject({ name: 'A2AError' })
    }
    expect(await errorOf(registry.add(`http://127.0.0.1:${await closedPort()}`))).toMatchObject({
      code: 'unavailable',
    })
    expect((await registry.search({ status: 'healthy' })).totalCount).toBe(0)
  })

  it('only the owner of an entry can replace it', async () => {
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    const registry = createTestRegistry()
    await registry.add(server.url, { owner: 'alice' })
    await expect(registry.add(server.url, { owner: 'bob' })).rejects.toMatchObject({ code: 'conflict' })
    await expect(registry.add(server.url)).rejects.toMatchObject({ code: 'conflict' })
    expect(await registry.add(server.url, { owner: 'alice' })).toMatchObject({ name: 'Tea shop' })
    expect(await registry.remove(server.cardUrl)).toBe(true)
    expect((await registry.add(server.url, { owner: 'bob' })).id).toBe(server.cardUrl)
  })
})

describe('maintenance of A2A agents', () => {
  it('maintenance reads a card again when it is no longer fresh, with its ETag', async () => {
    const clock = createVirtualClock()
    const etags: (string | undefined)[] = []
    let [name, failing] = ['One', false]
    const origin = await startHttpServer((request, response) => {
      etags.push(request.headers['if-none-match'])
      if (failing) return void response.writeHead(500).end()
      const headers = { etag: `"${name}"`, 'cache-control': 'max-age=600', 'content-type': 'application/json' }
      if (request.headers['if-none-match'] === headers.etag) return void response.writeHead(304, headers).end()
      response.writeHead(200, headers).end(JSON.stringify(cardAt(origin, { name })))
    })
    const registry = createTestRegistry({ clock, maintenance: { interval: 10_000 } })
    const changes = registry.follow()
    const { id } = await registry.add(`${origin}/card.json`)
    const pass = async (milliseconds: number) => {
      await clock.advance(milliseconds)
      await registry.maintain()
    }
    await pass(590_000)
    expect(etags).toEqual([undefined])
    await pass(20_000)
    expect(etags).toEqual([undefined, '"One"'])
    name = 'Two'
    await pass(610_000)
    expect(await registry.get(id)).toMatchObject({ name: 'Two', failures: 0 })
    failing = true
    await pass(610_000)
    expect(await registry.get(id)).toMatchObject({ name: 'Two', trouble: 'unreachable', failures: 1 })
    expect((await registry.search({ status: 'unhealthy' })).agents).toMatchObject([
      { seen: { reachable: { ok: false } } },
    ])
    failing = false
    await pass(70_000)
    expect(await registry.get(id)).not.toHaveProperty('trouble')
    const types: string[] = []
    for await (const { type } of changes) if (types.push(type) === 4) break
    expect(types).toEqual(['registered', 'updated', 'status', 'status'])
  })

  it('maintenance removes an agent whose card cannot be read for longer than removeAfter', async () => {
    const clock = createVirtualClock()
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    const registry = createTestRegistry({ clock, a2a: { removeAfter: 3_600_000 } })
    await registry.add(server.url)
    await server.close()
    for (let hours = 0; hours < 2; hours++) {
      await clock.advance(3_500_000)
      await registry.maintain()
    }
    expect((await registry.search()).totalCount).toBe(0)
  })
})
