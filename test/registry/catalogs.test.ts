import { describe, expect, it } from 'vitest'
import { createMemoryRegistryStore } from '../../src/entries/registry.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import {
  cardAt,
  cardType,
  catalogEntry,
  catalogOf,
  catalogType,
  createTestRegistry,
  post,
  request,
  startRegistryServer,
  teaProfile,
} from './registry-fixtures.ts'

/** Serves documents by path; each one is created with the server's own origin. */
async function serveDocuments(routes: Readonly<Record<string, (origin: string) => unknown>>): Promise<string> {
  const origin = await startHttpServer(({ url = '' }, response) => {
    const route = routes[url.split('?', 1)[0] ?? '']
    response.writeHead(route ? 200 : 404, { 'content-type': 'application/json' })
    response.end(route ? JSON.stringify(route(origin)) : '')
  })
  return origin
}

describe('adding a catalog', () => {
  it('a catalog adds agents of nested catalogs, by URL and inline', async () => {
    const origin = await serveDocuments({
      '/.well-known/ai-catalog.json': () =>
        catalogOf(
          catalogEntry('a', { url: '/a.json' }),
          catalogEntry('inner', { mediaType: catalogType, url: 'inner.json' }),
          catalogEntry('inline', { mediaType: catalogType, data: catalogOf(catalogEntry('d', { url: '/d.json' })) }),
          catalogEntry('tools', { mediaType: 'application/mcp-server-card+json', url: '/tools.json' }),
        ),
      '/.well-known/inner.json': (origin) =>
        catalogOf(
          catalogEntry('b', { url: `${origin}/b.json` }),
          catalogEntry('c', { data: cardAt(origin, { name: 'Inline' }) }),
        ),
      '/a.json': cardAt,
      '/b.json': cardAt,
      '/d.json': cardAt,
    })
    const registry = createTestRegistry()
    const report = await registry.addCatalog(origin)
    expect(report).toMatchObject({ refused: [], skipped: 1 })
    expect(report.catalogs).toHaveLength(3)
    const inline = `${origin}/.well-known/inner.json#urn%3Atest%3Ac`
    expect(report.added.toSorted()).toEqual(
      [`${origin}/a.json`, `${origin}/b.json`, `${origin}/d.json`, inline].toSorted(),
    )
    expect(await registry.get(inline)).toMatchObject({ name: 'Inline', kind: 'a2a' })
    expect((await registry.search({ skill: 'brew' })).totalCount).toBe(4)
    expect((await registry.search({ text: 'inline' })).agents).toMatchObject([{ seen: { conforms: { ok: true } } }])
    expect((await registry.search({ text: 'inline' })).agents[0]?.seen).not.toHaveProperty('reachable')
  })

  it('invalid entries are refused one by one and the others are added', async () => {
    const both = { url: '/a.json', data: {} }
    const origin = await serveDocuments({
      '/catalog.json': () =>
        catalogOf(
          catalogEntry('good', { url: '/a.json', trustManifest: { identity: 'urn:test:good' } }),
          catalogEntry('good', { url: '/twice.json' }),
          catalogEntry('false', { url: '/a.json', trustManifest: { identity: 'urn:test:other' } }),
          catalogEntry('both', both),
          catalogEntry('none', {}),
          catalogEntry('file', { url: 'file:///etc/passwd' }),
          catalogEntry('inside', { url: 'http://10.0.0.1/card.json' }),
          catalogEntry('gone', { url: '/gone.json' }),
          { ...catalogEntry('x', { url: '/a.json' }), identifier: 'no identifier' },
          { identifier: 'urn:test:nameless', mediaType: cardType, url: '/a.json' },
          'nonsense',
        ),
      '/a.json': cardAt,
    })
    const report = await createTestRegistry().addCatalog(`${origin}/catalog.json`)
    expect(report.added).toEqual([`${origin}/a.json`])
    expect(report.refused.map(({ identifier }) => identifier).toSorted()).toEqual(
      [
        ...['both', 'false', 'file', 'gone', 'good', 'inside', 'nameless', 'none'].map((name) => `urn:test:${name}`),
        'entries[10]',
        'no identifier',
      ].toSorted(),
    )
    for (const { problem } of report.refused) expect(problem.length).toBeGreaterThan(10)
  })

  it('the newest of several versions of an entry is added', async () => {
    const origin = await serveDocuments({
      '/catalog.json': () =>
        catalogOf(
          catalogEntry('tea', { url: '/new.json', version: '1.10.0' }),
          catalogEntry('tea', { url: '/old.json', version: '1.9.0' }),
          catalogEntry('pot', { url: '/old.json', updatedAt: '2026-01-01T00:00:00Z', version: 'one' }),
          catalogEntry('pot', { url: '/pot.json', updatedAt: '2026-02-01T00:00:00Z', version: 'two' }),
        ),
      '/new.json': cardAt,
      '/pot.json': cardAt,
      '/old.json': cardAt,
    })
    const { added } = await createTestRegistry().addCatalog(`${origin}/catalog.json`)
    expect(added.toSorted()).toEqual([`${origin}/new.json`, `${origin}/pot.json`])
  })

  it('cycles end, and depth, number and size of catalogs are limited', async () => {
    const nested = (url: string) => catalogEntry(`to ${url}`.replaceAll(' ', ':'), { mediaType: catalogType, url })
    const origin = await serveDocuments({
      '/circle.json': () => catalogOf(nested('/other.json')),
      '/other.json': () => catalogOf(nested('/circle.json'), nested('/other.json')),
      '/1.json': () => catalogOf(nested('/2.json')),
      '/2.json': () => catalogOf(nested('/3.json')),
      '/3.json': () => catalogOf(nested('/4.json')),
      '/wide.json': () => catalogOf(...Array.from({ length: 9 }, (_, index) => nested(`/leaf.json?${index}`))),
      '/leaf.json': () => catalogOf(),
      '/long.json': () =>
        catalogOf(...Array.from({ length: 11 }, (_, index) => catalogEntry(`e${index}`, { url: `/${index}.json` }))),
      '/huge.json': () => catalogOf(catalogEntry('x', { url: '/a.json', description: 'x'.repeat(20_000) })),
      '/major.json': () => ({ specVersion: '2.0', entries: [] }),
      '/minor.json': () => ({ specVersion: '1.7', entries: [], more: true }),
      '/card.json': cardAt,
    })
    const limits = { maxDepth: 3, maxCatalogs: 5, maxEntries: 10, maxBytes: 10_000 }
    const registry = createTestRegistry({ catalogs: limits })
    const read = (name: string) => registry.addCatalog(`${origin}/${name}.json`)
    expect(await read('circle')).toMatchObject({
      catalogs: [`${origin}/circle.json`, `${origin}/other.json`],
      refused: [{ problem: 'this catalog was read before' }, { problem: 'this catalog was read before' }],
    })
    expect(await read('1')).toMatchObject({ refused: [{ problem: 'catalogs are read up to 3 levels deep' }] })
    expect((await read('wide')).catalogs).toHaveLength(5)
    expect(await read('minor')).toMatchObject({ refused: [], added: [] })
    for (const name of ['long', 'huge', 'major', 'card', 'gone']) {
      await expect(read(name), name).rejects.toMatchObject({ code: 'invalid-agent-response' })
    }
    await expect(registry.addCatalog('http://10.0.0.1/')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(registry.addCatalog('nonsense')).rejects.toMatchObject({ code: 'invalid-params' })
    expect((await registry.search()).totalCount).toBe(0)
  })

  it('a catalog can take neither an entry of another owner nor its name', async () => {
    const { server } = await startTestServer(() => 'hot', { profile: teaProfile })
    const origin = await serveDocuments({
      '/catalog.json': (origin) =>
        catalogOf(catalogEntry('a', { url: server.cardUrl }), {
          ...catalogEntry('b', { data: cardAt(origin, { name: 'Evil' }) }),
          identifier: server.cardUrl,
        }),
    })
    const { url, registry } = await startRegistryServer()
    await registry.add(server.url)
    const { status, body } = await post(`${url}/catalogs`, { url: `${origin}/catalog.json` })
    expect(status).toBe(200)
    expect(body.refused).toMatchObject([
      { identifier: 'urn:test:a', problem: expect.stringContaining('another owner') },
    ])
    expect(await registry.get(server.cardUrl)).toMatchObject({ name: 'Tea shop' })
  })
})

describe('the published catalog of a registry', () => {
  it('another registry can add the published catalog', async () => {
    const origin = await serveDocuments({ '/a.json': cardAt, '/b.json': cardAt })
    const { url, registry } = await startRegistryServer({ publisher: { displayName: 'Tea market' } })
    expect((await request(`${url}/.well-known/ai-catalog.json`)).body).toEqual({
      specVersion: '1.0',
      host: { displayName: 'Tea market' },
      entries: [],
    })
    for (const name of ['a', 'b']) await registry.add(`${origin}/${name}.json`)
    const { headers, body } = await request(`${url}/.well-known/ai-catalog.json`)
    expect(headers.get('content-type')).toBe(catalogType)
    expect(body.entries).toMatchObject([
      {
        identifier: `${origin}/a.json`,
        displayName: 'Tea shop',
        mediaType: cardType,
        url: `${origin}/a.json`,
        tags: ['Kitchen', 'drinks'],
        version: '1.2.3',
        updatedAt: expect.stringMatching(/Z$/),
      },
      { identifier: `${origin}/b.json` },
    ])
    const etag = headers.get('etag') ?? ''
    expect((await request(`${url}/.well-known/ai-catalog.json`, { headers: { 'if-none-match': etag } })).status).toBe(
      304,
    )
    await registry.remove(`${origin}/a.json`)
    expect((await request(`${url}/.well-known/ai-catalog.json`, { headers: { 'if-none-match': etag } })).status).toBe(
      200,
    )
    expect(await createTestRegistry().addCatalog(url)).toMatchObject({ added: [`${origin}/b.json`], refused: [] })
  })

  it('a catalog longer than one page is complete', async () => {
    const entries = createMemoryRegistryStore()
    const origin = await serveDocuments({ '/a.json': cardAt })
    const { url, registry } = await startRegistryServer({ entries })
    const { id } = await registry.add(`${origin}/a.json`)
    const stored = (await registry.get(id)) ?? expect.fail()
    for (let index = 0; index < 1_000; index++)
      await entries.put({ ...stored, id: `${id}?${index}` }, { terms: [], rank: 0 })
    const { body } = await request(`${url}/.well-known/ai-catalog.json`)
    expect(new Set(body.entries.map(({ identifier }: { identifier: string }) => identifier)).size).toBe(1_001)
  })
})
