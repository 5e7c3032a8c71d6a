import { describe, expect, it } from 'vitest'
import { createMemoryEntries } from '../../src/entries/registry.ts'
import { httpServer } from '../support/http-server.ts'
import { served } from '../support/served.ts'
import { ask, cardAt, post, registryHere, registryServer, tea } from './place.ts'

const cardType = 'application/a2a-agent-card+json'
const catalogType = 'application/ai-catalog+json'

/** Documents at their paths, made with the origin at which they are. */
async function documents(routes: Readonly<Record<string, (origin: string) => unknown>>): Promise<string> {
  const origin = await httpServer(({ url = '' }, response) => {
    const route = routes[url.split('?', 1)[0] ?? '']
    response.writeHead(route ? 200 : 404, { 'content-type': 'application/json' })
    response.end(route ? JSON.stringify(route(origin)) : '')
  })
  return origin
}

function entry(name: string, more: object): object {
  return { identifier: `urn:test:${name}`, displayName: name, mediaType: cardType, ...more }
}

function catalog(...entries: unknown[]): object {
  return { specVersion: '1.0', entries }
}

describe('catalogs of others', () => {
  it('are read in, with those in them, by address and inline', async () => {
    const origin = await documents({
      '/.well-known/ai-catalog.json': () =>
        catalog(
          entry('a', { url: '/a.json' }),
          entry('inner', { mediaType: catalogType, url: 'inner.json' }),
          entry('inline', { mediaType: catalogType, data: catalog(entry('d', { url: '/d.json' })) }),
          entry('tools', { mediaType: 'application/mcp-server-card+json', url: '/tools.json' }),
        ),
      '/.well-known/inner.json': (at) =>
        catalog(entry('b', { url: `${at}/b.json` }), entry('c', { data: cardAt(at, { name: 'Inline' }) })),
      '/a.json': cardAt,
      '/b.json': cardAt,
      '/d.json': cardAt,
    })
    const registry = registryHere()
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

  it('are refused entry by entry for what is wrong, and the rest is taken', async () => {
    const both = { url: '/a.json', data: {} }
    const origin = await documents({
      '/catalog.json': () =>
        catalog(
          entry('good', { url: '/a.json', trustManifest: { identity: 'urn:test:good' } }),
          entry('good', { url: '/twice.json' }),
          entry('false', { url: '/a.json', trustManifest: { identity: 'urn:test:other' } }),
          entry('both', both),
          entry('none', {}),
          entry('file', { url: 'file:///etc/passwd' }),
          entry('inside', { url: 'http://10.0.0.1/card.json' }),
          entry('gone', { url: '/gone.json' }),
          { ...entry('x', { url: '/a.json' }), identifier: 'no identifier' },
          { identifier: 'urn:test:nameless', mediaType: cardType, url: '/a.json' },
          'nonsense',
        ),
      '/a.json': cardAt,
    })
    const report = await registryHere().addCatalog(`${origin}/catalog.json`)
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

  it('list the newest version of what they list several times', async () => {
    const origin = await documents({
      '/catalog.json': () =>
        catalog(
          entry('tea', { url: '/new.json', version: '1.10.0' }),
          entry('tea', { url: '/old.json', version: '1.9.0' }),
          entry('pot', { url: '/old.json', updatedAt: '2026-01-01T00:00:00Z', version: 'one' }),
          entry('pot', { url: '/pot.json', updatedAt: '2026-02-01T00:00:00Z', version: 'two' }),
        ),
      '/new.json': cardAt,
      '/pot.json': cardAt,
      '/old.json': cardAt,
    })
    const { added } = await registryHere().addCatalog(`${origin}/catalog.json`)
    expect(added.toSorted()).toEqual([`${origin}/new.json`, `${origin}/pot.json`])
  })

  it('end: circles, depth, number and size are bounded', async () => {
    const nested = (url: string) => entry(`to ${url}`.replaceAll(' ', ':'), { mediaType: catalogType, url })
    const origin = await documents({
      '/circle.json': () => catalog(nested('/other.json')),
      '/other.json': () => catalog(nested('/circle.json'), nested('/other.json')),
      '/1.json': () => catalog(nested('/2.json')),
      '/2.json': () => catalog(nested('/3.json')),
      '/3.json': () => catalog(nested('/4.json')),
      '/wide.json': () => catalog(...Array.from({ length: 9 }, (_, at) => nested(`/leaf.json?${at}`))),
      '/leaf.json': () => catalog(),
      '/long.json': () => catalog(...Array.from({ length: 11 }, (_, at) => entry(`e${at}`, { url: `/${at}.json` }))),
      '/huge.json': () => catalog(entry('x', { url: '/a.json', description: 'x'.repeat(20_000) })),
      '/major.json': () => ({ specVersion: '2.0', entries: [] }),
      '/minor.json': () => ({ specVersion: '1.7', entries: [], more: true }),
      '/card.json': cardAt,
    })
    const limits = { maxDepth: 3, maxCatalogs: 5, maxEntries: 10, maxBytes: 10_000 }
    const registry = registryHere({ catalogs: limits })
    const read = (name: string) => registry.addCatalog(`${origin}/${name}.json`)
    expect(await read('circle')).toMatchObject({
      catalogs: [`${origin}/circle.json`, `${origin}/other.json`],
      refused: [{ problem: 'this catalog was met before' }, { problem: 'this catalog was met before' }],
    })
    expect(await read('1')).toMatchObject({ refused: [{ problem: 'catalogs are read up to 3 deep' }] })
    expect((await read('wide')).catalogs).toHaveLength(5)
    expect(await read('minor')).toMatchObject({ refused: [], added: [] })
    for (const name of ['long', 'huge', 'major', 'card', 'gone']) {
      await expect(read(name), name).rejects.toMatchObject({ code: 'invalid-agent-response' })
    }
    await expect(registry.addCatalog('http://10.0.0.1/')).rejects.toMatchObject({ code: 'forbidden' })
    await expect(registry.addCatalog('nonsense')).rejects.toMatchObject({ code: 'invalid-params' })
    expect((await registry.search()).totalCount).toBe(0)
  })

  it('cannot take what belongs to somebody else, nor its name', async () => {
    const { server } = await served(() => 'hot', { profile: tea })
    const origin = await documents({
      '/catalog.json': (at) =>
        catalog(entry('a', { url: server.cardUrl }), {
          ...entry('b', { data: cardAt(at, { name: 'Evil' }) }),
          identifier: server.cardUrl,
        }),
    })
    const { url, registry } = await registryServer()
    await registry.add(server.url)
    const { status, body } = await post(`${url}/catalogs`, { url: `${origin}/catalog.json` })
    expect(status).toBe(200)
    expect(body.refused).toMatchObject([
      { identifier: 'urn:test:a', problem: expect.stringContaining('somebody else') },
    ])
    expect(await registry.get(server.cardUrl)).toMatchObject({ name: 'Tea shop' })
  })
})

describe('the catalog of a registry', () => {
  it('is published for others, who can read it in', async () => {
    const origin = await documents({ '/a.json': cardAt, '/b.json': cardAt })
    const { url, registry } = await registryServer({ publisher: { displayName: 'Tea market' } })
    expect((await ask(`${url}/.well-known/ai-catalog.json`)).body).toEqual({
      specVersion: '1.0',
      host: { displayName: 'Tea market' },
      entries: [],
    })
    for (const name of ['a', 'b']) await registry.add(`${origin}/${name}.json`)
    const { headers, body } = await ask(`${url}/.well-known/ai-catalog.json`)
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
    expect((await ask(`${url}/.well-known/ai-catalog.json`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    await registry.remove(`${origin}/a.json`)
    expect((await ask(`${url}/.well-known/ai-catalog.json`, { headers: { 'if-none-match': etag } })).status).toBe(200)
    expect(await registryHere().addCatalog(url)).toMatchObject({ added: [`${origin}/b.json`], refused: [] })
  })

  it('may be long: it is read page by page', async () => {
    const entries = createMemoryEntries()
    const origin = await documents({ '/a.json': cardAt })
    const { url, registry } = await registryServer({ entries })
    const { id } = await registry.add(`${origin}/a.json`)
    const made = (await registry.get(id)) ?? expect.fail()
    for (let at = 0; at < 1_000; at++) await entries.put({ ...made, id: `${id}?${at}` }, { terms: [], rank: 0 })
    const { body } = await ask(`${url}/.well-known/ai-catalog.json`)
    expect(new Set(body.entries.map(({ identifier }: { identifier: string }) => identifier)).size).toBe(1_001)
  })
})
