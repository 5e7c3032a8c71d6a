import { expect, it } from 'vitest'
import { createVirtualClock } from '../../src/testing/virtual-clock.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import {
  cardAt,
  catalogEntry,
  catalogOf,
  catalogType,
  createTestRegistry,
  post,
  request,
  startRegistryServer,
} from './registry-fixtures.ts'

const [minute, day] = [60_000, 86_400_000]

interface DocumentServer {
  readonly origin: string
  /** Documents by path. Tests change them. */
  readonly documents: Map<string, unknown>
  readonly headers: Record<string, string>
  /** Path and status of each request. */
  readonly requests: string[]
}

async function serveDocuments(): Promise<DocumentServer> {
  const documents = new Map<string, unknown>()
  const headers: Record<string, string> = {}
  const requests: string[] = []
  const origin = await startHttpServer((incoming, response) => {
    const document = documents.get(incoming.url ?? '')
    const isUnchanged = headers.etag !== undefined && incoming.headers['if-none-match'] === headers.etag
    const status = document === undefined ? 404 : isUnchanged ? 304 : 200
    requests.push(`${incoming.url} ${status}`)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(status === 200 ? JSON.stringify(document) : '')
  })
  return { origin, documents, headers, requests }
}

const path = '/catalog.json'

it('a stale catalog is read again: new agents are added, and missing inline agents are removed', async () => {
  const { origin, documents, headers, requests } = await serveDocuments()
  const card = (name: string) => cardAt(origin, { name })
  documents.set('/a.json', card('A'))
  documents.set('/b.json', card('B'))
  documents.set(path, catalogOf(catalogEntry('a', { url: '/a.json' }), catalogEntry('in', { data: card('In') })))
  headers['cache-control'] = 'max-age=600'
  const clock = createVirtualClock()
  const registry = createTestRegistry({ clock })
  expect((await registry.addCatalog(`${origin}${path}`)).added).toHaveLength(2)
  documents.set(path, catalogOf(catalogEntry('b', { url: '/b.json' }), catalogEntry('new', { data: card('New') })))
  requests.length = 0
  await clock.advance(599_000)
  await registry.maintain()
  expect(requests).not.toContain(`${path} 200`)
  await clock.advance(2_000)
  await registry.maintain()
  expect(requests).toContain(`${path} 200`)
  // A has a card URL of its own, so it stays although the catalog no longer lists it.
  expect((await registry.search()).agents.map(({ name }) => name)).toEqual(['A', 'B', 'New'])
  expect(await registry.catalogs()).toMatchObject([
    { url: `${origin}${path}`, failures: 0, due: clock.now() + 600_000 },
  ])
})

it('an unchanged catalog is requested with its ETag', async () => {
  const { origin, documents, headers, requests } = await serveDocuments()
  documents.set(path, catalogOf(catalogEntry('in', { data: cardAt(origin, { name: 'In' }) })))
  headers.etag = '"1"'
  const clock = createVirtualClock()
  const registry = createTestRegistry({ clock })
  await registry.addCatalog(`${origin}${path}`)
  await clock.advance(61 * minute)
  await registry.maintain()
  expect(requests).toEqual([`${path} 200`, `${path} 304`])
  expect((await registry.search()).totalCount).toBe(1)
})

it('an unreadable catalog is retried with increasing delays, keeps its agents, and is removed after a week', async () => {
  const { origin, documents, requests } = await serveDocuments()
  documents.set(path, catalogOf(catalogEntry('in', { data: cardAt(origin, { name: 'In' }) })))
  const clock = createVirtualClock()
  const registry = createTestRegistry({ clock, a2a: { usualAge: minute } })
  await registry.addCatalog(`${origin}${path}`)
  documents.clear()
  for (const delay of [minute, minute, 2 * minute, 4 * minute]) {
    await clock.advance(delay)
    await registry.maintain()
  }
  expect(requests).toEqual([`${path} 200`, ...Array(4).fill(`${path} 404`)])
  expect((await registry.search()).totalCount).toBe(1)
  await clock.advance(6 * day)
  await registry.maintain()
  expect(await registry.catalogs()).toHaveLength(1)
  await clock.advance(day)
  await registry.maintain()
  expect([await registry.catalogs(), (await registry.search()).totalCount]).toEqual([[], 0])
})

it('agents of a nested catalog stay while that catalog cannot be read', async () => {
  const { origin, documents } = await serveDocuments()
  const inner = catalogEntry('inner', { mediaType: catalogType, url: '/inner.json' })
  documents.set(path, catalogOf(inner))
  documents.set('/inner.json', catalogOf(catalogEntry('in', { data: cardAt(origin, { name: 'In' }) })))
  const clock = createVirtualClock()
  const registry = createTestRegistry({ clock })
  await registry.addCatalog(`${origin}${path}`)
  documents.delete('/inner.json')
  await clock.advance(61 * minute)
  await registry.maintain()
  expect((await registry.search()).totalCount).toBe(1)
  documents.set('/inner.json', catalogOf())
  await clock.advance(61 * minute)
  await registry.maintain()
  expect((await registry.search()).totalCount).toBe(0)
})

it('owners list and remove their catalogs over HTTP, up to a quota', async () => {
  const { origin, documents } = await serveDocuments()
  documents.set(path, catalogOf(catalogEntry('in', { data: cardAt(origin, { name: 'In' }) })))
  documents.set('/other.json', catalogOf())
  const { url, registry } = await startRegistryServer({ catalogs: { maxKept: 1 } })
  expect((await post(`${url}/catalogs`, { url: `${origin}${path}` })).status).toBe(200)
  const second = await post(`${url}/catalogs`, { url: `${origin}/other.json` })
  expect(second).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringContaining('remove one first') } },
  })
  await registry.addCatalog(`${origin}/other.json`)
  const { body, headers } = await request(`${url}/catalogs`)
  const times = { readAt: expect.stringMatching(/Z$/), nextAt: expect.stringMatching(/Z$/), failures: 0 }
  expect(body.catalogs).toEqual([
    { url: `${origin}${path}`, ...times },
    { url: `${origin}/other.json`, ...times },
  ])
  const condition = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
  expect((await request(`${url}/catalogs`, condition)).status).toBe(304)
  const remove = async (name: string) =>
    (await request(`${url}/catalogs/${encodeURIComponent(`${origin}${name}`)}`, { method: 'DELETE' })).status
  expect([await remove('/other.json'), await remove(path), await remove(path)]).toEqual([403, 204, 404])
  expect((await registry.search()).totalCount).toBe(0)
})

it('an owner at its quota is refused, and may add another agent after removing one', async () => {
  const { origin, documents } = await serveDocuments()
  for (const name of ['a', 'b', 'c']) documents.set(`/${name}.json`, cardAt(origin, { name }))
  documents.set(path, catalogOf(catalogEntry('b', { url: '/b.json' }), catalogEntry('c', { url: '/c.json' })))
  const { url, registry } = await startRegistryServer({ maxPerOwner: 1 })
  const add = (name: string) => post(`${url}/agents`, { url: `${origin}/${name}.json` })
  expect((await add('a')).status).toBe(201)
  expect((await add('a')).status).toBe(201)
  const message = expect.stringContaining('You have 1 agents here')
  expect(await add('b')).toMatchObject({ status: 403, body: { error: { message } } })
  const { body } = await post(`${url}/catalogs`, { url: `${origin}${path}` })
  expect(body).toMatchObject({ added: [], refused: [{ problem: message }, { problem: message }] })
  await request(`${url}/agents/${encodeURIComponent(`${origin}/a.json`)}`, { method: 'DELETE' })
  expect((await add('b')).status).toBe(201)
  await registry.add(`${origin}/c.json`)
  expect((await registry.search()).totalCount).toBe(2)
})
