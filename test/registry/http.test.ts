import { request as httpRequest } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { apiKey, hashApiKey, newApiKey } from '../../src/entries/auth.ts'
import { createSqliteRegistryStore } from '../../src/entries/sqlite.ts'
import { silentLogger } from '../support/logger.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { cardAt, post, request, startRegistryServer, teaProfile } from './registry-fixtures.ts'

describe('the registry over HTTP', () => {
  it('an agent is added by its URL, shown and removed', async () => {
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    const { url } = await startRegistryServer()
    const added = await post(`${url}/agents`, { url: server.url })
    expect(added).toMatchObject({ status: 201, body: { id: server.cardUrl, status: 'healthy' } })
    const agentUrl = `${url}${added.headers.get('location')}`
    expect(await request(agentUrl)).toMatchObject({
      status: 200,
      body: { name: 'Tea shop', card: { name: 'Tea shop' } },
    })
    expect(await request(`${url}/agents`)).toMatchObject({
      status: 200,
      body: { totalCount: 1, agents: [{ kind: 'a2a' }] },
    })
    expect((await request(agentUrl, { method: 'DELETE' })).status).toBe(204)
    expect((await request(agentUrl, { method: 'DELETE' })).status).toBe(404)
    expect((await request(agentUrl)).status).toBe(404)
  })

  it('lists are paged by a cursor and revalidated by ETag', async () => {
    const origin = await startHttpServer(({ url = '' }, response) =>
      response.end(JSON.stringify(cardAt(origin, { name: `Shop ${url.slice(1, 2)}` }))),
    )
    const { url, registry } = await startRegistryServer()
    for (const name of ['a', 'b', 'c']) await registry.add(`${origin}/${name}.json`)
    const names: string[] = []
    let pages = 0
    for (let cursor: string | undefined = ''; cursor !== undefined; pages++) {
      const page = await request(`${url}/agents?limit=2&skill=brew${cursor && `&cursor=${cursor}`}`)
      names.push(...page.body.agents.map(({ name }: { name: string }) => name))
      expect(page.body.totalCount).toBe(3)
      expect(page.headers.get('server-timing')).toMatch(/^query;dur=[\d.]+$/)
      cursor = page.body.nextCursor
    }
    expect({ names, pages }).toEqual({ names: ['Shop a', 'Shop b', 'Shop c'], pages: 2 })
    const etag = (await request(`${url}/agents`)).headers.get('etag') ?? ''
    const unchanged = await request(`${url}/agents`, { headers: { 'if-none-match': etag } })
    expect(unchanged).toMatchObject({ status: 304, body: undefined })
    await registry.remove(`${origin}/a.json`)
    expect((await request(`${url}/agents`, { headers: { 'if-none-match': etag } })).status).toBe(200)
  })

  it('a registry whose file cannot be written answers 503, and the log names the cause', async () => {
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    let db: DatabaseSync | undefined
    const driver = (file: string) => {
      db = new DatabaseSync(file)
      return db
    }
    const entries = createSqliteRegistryStore({ file: join(await temporaryDirectory(), 'registry.db'), driver })
    const errors: unknown[] = []
    const logger = { ...silentLogger, error: (fields: { error?: unknown }) => void errors.push(fields.error) }
    const { url } = await startRegistryServer({ entries, logger })
    db?.exec('PRAGMA query_only = ON')
    const refused = await post(`${url}/agents`, { url: server.url })
    expect(refused.status).toBe(503)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(JSON.stringify(refused.body)).not.toContain('registry.db')
    expect(errors).toMatchObject([{ message: expect.stringMatching(/^The registry .*registry\.db cannot be written/) }])
    db?.exec('PRAGMA query_only = OFF')
    expect((await post(`${url}/agents`, { url: server.url })).status).toBe(201)
  })

  it('invalid requests are answered with what was expected', async () => {
    const { url } = await startRegistryServer()
    const responses = [
      await request(`${url}/agents?limit=0`),
      await request(`${url}/agents?limit=many`),
      await request(`${url}/agents?status=fine`),
      await request(`${url}/agents?kind=robot`),
      await request(`${url}/agents?cursor=x`),
      await request(`${url}/agents?skil=x`),
      await post(`${url}/agents`, '{'),
      await post(`${url}/agents`, '{"url":"http://a","url":"http://b"}'),
      await post(`${url}/agents`, []),
      await post(`${url}/agents`, { url: 7 }),
      await post(`${url}/agents`, { url: 'ftp://x' }),
      await post(`${url}/agents`, { url: 'http://x' }, { 'content-type': 'text/plain' }),
      await request(`${url}/changes`, { headers: { 'last-event-id': 'x' } }),
    ]
    for (const { status, body } of responses) {
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
    expect(await request(`${url}/nothing`)).toMatchObject({ status: 404 })
    expect(await post(`${url}/mesh`, {})).toMatchObject({ status: 404 })
    expect(await request(`${url}/agents/%E0%A4%A`)).toMatchObject({ status: 404 })
  })

  it('only owners, and callers that mayChange allows, change an entry', async () => {
    const keys = { alice: newApiKey(), bob: newApiKey(), root: newApiKey() }
    const stored = await Promise.all(
      Object.entries(keys).map(async ([id, key]) => ({ id, hash: await hashApiKey(key) })),
    )
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    const { url, registry } = await startRegistryServer({
      auth: { schemes: { key: apiKey({ keys: stored }) } },
      mayChange: (owner) => owner === 'root',
    })
    const as = (name: keyof typeof keys) => ({ 'x-api-key': keys[name] })
    const body = { url: server.url }
    const agentUrl = `${url}/agents/${encodeURIComponent(server.cardUrl)}`
    const unauthenticated = await post(`${url}/agents`, body)
    expect(unauthenticated).toMatchObject({ status: 401, body: { error: { status: 'UNAUTHENTICATED' } } })
    expect(unauthenticated.headers.get('www-authenticate')).toContain('ApiKey')
    expect((await post(`${url}/agents`, body, as('alice'))).status).toBe(201)
    expect((await post(`${url}/agents`, body, as('alice'))).status).toBe(201)
    expect((await post(`${url}/agents`, body, as('bob'))).status).toBe(409)
    expect((await request(agentUrl, { method: 'DELETE' })).status).toBe(401)
    expect((await request(agentUrl, { method: 'DELETE', headers: as('bob') })).status).toBe(403)
    expect((await request(agentUrl)).status).toBe(200)
    expect((await request(agentUrl, { method: 'DELETE', headers: as('root') })).status).toBe(204)
    await registry.add(server.url)
    expect((await post(`${url}/agents`, body, as('alice'))).status).toBe(409)
  })

  it('changes are refused through a proxy, by another host name, and on a public address without auth', async () => {
    const { url, port } = await startRegistryServer()
    const body = { url: `${url}/nothing.json` }
    expect((await post(`${url}/agents`, body)).status).toBe(422)
    expect((await post(`${url}/agents`, body, { 'x-forwarded-for': '203.0.113.9' })).status).toBe(403)
    expect((await post(`${url}/agents`, body, { origin: 'https://evil.example' })).status).toBe(403)
    expect(await statusFor(port, '/agents', { host: `evil.example:${port}` }, body)).toBe(403)
    const { port: publicPort } = await startRegistryServer({ host: '0.0.0.0' })
    expect((await post(`http://127.0.0.1:${publicPort}/agents`, body)).status).toBe(403)
    expect((await request(`http://127.0.0.1:${publicPort}/agents`)).status).toBe(200)
  })

  it('unsigned envelopes of web pages are refused on a loopback address', async () => {
    const { port } = await startRegistryServer({ requireAuth: false })
    expect(await statusFor(port, '/mesh', { host: 'evil.example' }, {})).toBe(403)
    expect(await statusFor(port, '/mesh', { origin: 'https://evil.example' }, {})).toBe(403)
    expect(await statusFor(port, '/mesh', {}, {})).not.toBe(403)
  })

  it('the number of agents that are read concurrently is limited', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    const { promise: requested, resolve: onRequest } = Promise.withResolvers<void>()
    const origin = await startHttpServer(async (_, response) => {
      onRequest()
      await opened
      response.end(JSON.stringify(cardAt(origin)))
    })
    const { url } = await startRegistryServer({ maxReading: 1 })
    const first = post(`${url}/agents`, { url: `${origin}/card.json` })
    await requested
    const second = await post(`${url}/agents`, { url: `${origin}/card.json` })
    expect(second.status).toBe(503)
    expect(second.headers.get('retry-after')).toBe('1')
    open()
    expect((await first).status).toBe(201)
  })
})

/** The status of a POST with any Host header, which `fetch` does not allow. */
function statusFor(port: number, path: string, headers: Readonly<Record<string, string>>, body: object) {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', method: 'POST', path }
    httpRequest({ ...options, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
      .once('error', reject)
      .end(JSON.stringify(body))
  })
}
