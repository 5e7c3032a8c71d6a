import { describe, expect, it } from 'vitest'
import { apiKey, hashApiKey, newApiKey } from '../../src/entries/auth.ts'
import { httpServer } from '../support/http-server.ts'
import { served } from '../support/served.ts'
import { ask, cardAt, post, registryServer, tea } from './place.ts'

describe('the registry over HTTP', () => {
  it('takes an agent by its address, shows it, and lets go of it', async () => {
    const { server } = await served(() => 'hot', { profile: tea })
    const { url } = await registryServer()
    const added = await post(`${url}/agents`, { url: server.url })
    expect(added).toMatchObject({ status: 201, body: { id: server.cardUrl, status: 'healthy' } })
    const place = `${url}${added.headers.get('location')}`
    expect(await ask(place)).toMatchObject({ status: 200, body: { name: 'Tea shop', card: { name: 'Tea shop' } } })
    expect(await ask(`${url}/agents`)).toMatchObject({
      status: 200,
      body: { totalCount: 1, agents: [{ kind: 'a2a' }] },
    })
    expect((await ask(place, { method: 'DELETE' })).status).toBe(204)
    expect((await ask(place, { method: 'DELETE' })).status).toBe(404)
    expect((await ask(place)).status).toBe(404)
  })

  it('has pages with a cursor and a tag: what has not changed is not sent again', async () => {
    const origin = await httpServer(({ url = '' }, response) =>
      response.end(JSON.stringify(cardAt(origin, { name: `Shop ${url.slice(1, 2)}` }))),
    )
    const { url, registry } = await registryServer()
    for (const name of ['a', 'b', 'c']) await registry.add(`${origin}/${name}.json`)
    const names: string[] = []
    let pages = 0
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const page = await ask(`${url}/agents?limit=2&skill=brew${cursor && `&cursor=${cursor}`}`)
      names.push(...page.body.agents.map(({ name }: { name: string }) => name))
      expect(page.body.totalCount).toBe(3)
      expect(page.headers.get('server-timing')).toMatch(/^query;dur=[\d.]+$/)
      cursor = page.body.nextCursor
    }
    expect({ names, pages }).toEqual({ names: ['Shop a', 'Shop b', 'Shop c'], pages: 2 })
    const etag = (await ask(`${url}/agents`)).headers.get('etag') ?? ''
    const unchanged = await ask(`${url}/agents`, { headers: { 'if-none-match': etag } })
    expect(unchanged).toMatchObject({ status: 304, body: undefined })
    await registry.remove(`${origin}/a.json`)
    expect((await ask(`${url}/agents`, { headers: { 'if-none-match': etag } })).status).toBe(200)
  })

  it('answers bad questions with what was expected', async () => {
    const { url } = await registryServer()
    const bad = [
      await ask(`${url}/agents?limit=0`),
      await ask(`${url}/agents?limit=many`),
      await ask(`${url}/agents?status=fine`),
      await ask(`${url}/agents?kind=robot`),
      await ask(`${url}/agents?cursor=x`),
      await ask(`${url}/agents?skil=x`),
      await post(`${url}/agents`, '{'),
      await post(`${url}/agents`, '{"url":"http://a","url":"http://b"}'),
      await post(`${url}/agents`, []),
      await post(`${url}/agents`, { url: 7 }),
      await post(`${url}/agents`, { url: 'ftp://x' }),
      await post(`${url}/agents`, { url: 'http://x' }, { 'content-type': 'text/plain' }),
      await ask(`${url}/changes`, { headers: { 'last-event-id': 'x' } }),
    ]
    for (const { status, body } of bad) {
      expect({ status, body }).toMatchObject({
        status: 400,
        body: { error: { code: 400, message: expect.any(String) } },
      })
      expect(body.error.message).not.toContain('    at ')
    }
    expect((await post(`${url}/agents`, { url: 'x'.repeat(20_000) })).status).toBe(413)
    expect(await post(`${url}/agents`, { url: 'http://10.0.0.1' })).toMatchObject({ status: 403 })
    expect(await post(`${url}/agents`, { url: `${url}/nothing.json` })).toMatchObject({ status: 422 })
    expect(await post(`${url}/changes`, {})).toMatchObject({ status: 405 })
    expect(await ask(`${url}/nothing`)).toMatchObject({ status: 404 })
    expect(await post(`${url}/mesh`, {})).toMatchObject({ status: 404 })
    expect(await ask(`${url}/agents/%E0%A4%A`)).toMatchObject({ status: 404 })
  })

  it('lets owners change their own, and nobody else, unless that is allowed', async () => {
    const keys = { alice: newApiKey(), bob: newApiKey(), root: newApiKey() }
    const stored = await Promise.all(
      Object.entries(keys).map(async ([id, key]) => ({ id, hash: await hashApiKey(key) })),
    )
    const { server } = await served(() => 'hot', { profile: tea })
    const { url, registry } = await registryServer({
      auth: { schemes: { key: apiKey({ keys: stored }) } },
      mayChange: (owner) => owner === 'root',
    })
    const as = (name: keyof typeof keys) => ({ 'x-api-key': keys[name] })
    const body = { url: server.url }
    const place = `${url}/agents/${encodeURIComponent(server.cardUrl)}`
    const stranger = await post(`${url}/agents`, body)
    expect(stranger).toMatchObject({ status: 401, body: { error: { status: 'UNAUTHENTICATED' } } })
    expect(stranger.headers.get('www-authenticate')).toContain('ApiKey')
    expect((await post(`${url}/agents`, body, as('alice'))).status).toBe(201)
    expect((await post(`${url}/agents`, body, as('alice'))).status).toBe(201)
    expect((await post(`${url}/agents`, body, as('bob'))).status).toBe(409)
    expect((await ask(place, { method: 'DELETE' })).status).toBe(401)
    expect((await ask(place, { method: 'DELETE', headers: as('bob') })).status).toBe(403)
    expect((await ask(place)).status).toBe(200)
    expect((await ask(place, { method: 'DELETE', headers: as('root') })).status).toBe(204)
    await registry.add(server.url)
    expect((await post(`${url}/agents`, body, as('alice'))).status).toBe(409)
  })

  it('is closed to changes by others: through a proxy, by another name, and where nobody said who may', async () => {
    const { url, port } = await registryServer()
    const body = { url: `${url}/nothing.json` }
    expect((await post(`${url}/agents`, body)).status).toBe(422)
    expect((await post(`${url}/agents`, body, { 'x-forwarded-for': '203.0.113.9' })).status).toBe(403)
    const { request } = await import('node:http')
    const rebound = await new Promise((resolve, reject) => {
      const headers = { host: `evil.example:${port}`, 'content-type': 'application/json' }
      const asking = request({ port, host: '127.0.0.1', method: 'POST', path: '/agents', headers }, (response) => {
        response.resume()
        resolve(response.statusCode)
      })
      asking.once('error', reject)
      asking.end(JSON.stringify(body))
    })
    expect(rebound).toBe(403)
    const { port: open } = await registryServer({ host: '0.0.0.0' })
    expect((await post(`http://127.0.0.1:${open}/agents`, body)).status).toBe(403)
    expect((await ask(`http://127.0.0.1:${open}/agents`)).status).toBe(200)
  })

  it('reads so many agents for callers at once', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const { promise: asked, resolve: tell } = Promise.withResolvers<void>()
    const origin = await httpServer(async (_, response) => {
      tell()
      await opened
      response.end(JSON.stringify(cardAt(origin)))
    })
    const { url } = await registryServer({ maxReading: 1 })
    const first = post(`${url}/agents`, { url: `${origin}/card.json` })
    await asked
    const second = await post(`${url}/agents`, { url: `${origin}/card.json` })
    expect(second.status).toBe(503)
    expect(second.headers.get('retry-after')).toBe('1')
    open()
    expect((await first).status).toBe(201)
  })
})
