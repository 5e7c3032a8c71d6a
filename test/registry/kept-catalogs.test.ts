import { expect, it } from 'vitest'
import { createClock } from '../../src/testing/virtual-clock.ts'
import { httpServer } from '../support/http-server.ts'
import { ask, cardAt, post, registryHere, registryServer } from './place.ts'

const cardType = 'application/a2a-agent-card+json'
const catalogType = 'application/ai-catalog+json'
const [minute, day] = [60_000, 86_400_000]

interface Place {
  readonly origin: string
  /** What is at which path; may be changed. */
  readonly documents: Map<string, unknown>
  readonly headers: Record<string, string>
  /** The paths that were asked for, with the status of the answer. */
  readonly asked: string[]
}

async function place(): Promise<Place> {
  const documents = new Map<string, unknown>()
  const headers: Record<string, string> = {}
  const asked: string[] = []
  const origin = await httpServer((request, response) => {
    const document = documents.get(request.url ?? '')
    const isKnown = headers.etag !== undefined && request.headers['if-none-match'] === headers.etag
    const status = document === undefined ? 404 : isKnown ? 304 : 200
    asked.push(`${request.url} ${status}`)
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(status === 200 ? JSON.stringify(document) : '')
  })
  return { origin, documents, headers, asked }
}

function entry(name: string, more: object): object {
  return { identifier: `urn:test:${name}`, displayName: name, mediaType: cardType, ...more }
}

const catalog = (...entries: unknown[]) => ({ specVersion: '1.0', entries })
const path = '/catalog.json'

it('a catalog is read again when its headers say so: what is new is listed, what lay in it and is gone is removed', async () => {
  const { origin, documents, headers, asked } = await place()
  const card = (name: string) => cardAt(origin, { name })
  documents.set('/a.json', card('A'))
  documents.set('/b.json', card('B'))
  documents.set(path, catalog(entry('a', { url: '/a.json' }), entry('in', { data: card('In') })))
  headers['cache-control'] = 'max-age=600'
  const clock = createClock()
  const registry = registryHere({ clock })
  expect((await registry.addCatalog(`${origin}${path}`)).added).toHaveLength(2)
  documents.set(path, catalog(entry('b', { url: '/b.json' }), entry('new', { data: card('New') })))
  asked.length = 0
  await clock.advance(599_000)
  await registry.upkeep()
  expect(asked).not.toContain(`${path} 200`)
  await clock.advance(2_000)
  await registry.upkeep()
  expect(asked).toContain(`${path} 200`)
  // What has a place of its own stays, and is looked at there.
  expect((await registry.search()).agents.map(({ name }) => name)).toEqual(['A', 'B', 'New'])
  expect(await registry.catalogs()).toMatchObject([
    { url: `${origin}${path}`, failures: 0, due: clock.now() + 600_000 },
  ])
})

it('a catalog that has not changed is asked for by its tag', async () => {
  const { origin, documents, headers, asked } = await place()
  documents.set(path, catalog(entry('in', { data: cardAt(origin, { name: 'In' }) })))
  headers.etag = '"1"'
  const clock = createClock()
  const registry = registryHere({ clock })
  await registry.addCatalog(`${origin}${path}`)
  await clock.advance(61 * minute)
  await registry.upkeep()
  expect(asked).toEqual([`${path} 200`, `${path} 304`])
  expect((await registry.search()).totalCount).toBe(1)
})

it('a catalog that cannot be read is tried again ever later, keeps what it listed, and is forgotten after a week', async () => {
  const { origin, documents, asked } = await place()
  documents.set(path, catalog(entry('in', { data: cardAt(origin, { name: 'In' }) })))
  const clock = createClock()
  const registry = registryHere({ clock, a2a: { usualAge: minute } })
  await registry.addCatalog(`${origin}${path}`)
  documents.clear()
  for (const pause of [minute, minute, 2 * minute, 4 * minute]) {
    await clock.advance(pause)
    await registry.upkeep()
  }
  expect(asked).toEqual([`${path} 200`, ...Array(4).fill(`${path} 404`)])
  expect((await registry.search()).totalCount).toBe(1)
  await clock.advance(6 * day)
  await registry.upkeep()
  expect(await registry.catalogs()).toHaveLength(1)
  await clock.advance(day)
  await registry.upkeep()
  expect([await registry.catalogs(), (await registry.search()).totalCount]).toEqual([[], 0])
})

it('what a nested catalog listed stays while that one cannot be read', async () => {
  const { origin, documents } = await place()
  const inner = entry('inner', { mediaType: catalogType, url: '/inner.json' })
  documents.set(path, catalog(inner))
  documents.set('/inner.json', catalog(entry('in', { data: cardAt(origin, { name: 'In' }) })))
  const clock = createClock()
  const registry = registryHere({ clock })
  await registry.addCatalog(`${origin}${path}`)
  documents.delete('/inner.json')
  await clock.advance(61 * minute)
  await registry.upkeep()
  expect((await registry.search()).totalCount).toBe(1)
  documents.set('/inner.json', catalog())
  await clock.advance(61 * minute)
  await registry.upkeep()
  expect((await registry.search()).totalCount).toBe(0)
})

it('catalogs are told and removed by HTTP, by those who had them read; so many of each', async () => {
  const { origin, documents } = await place()
  documents.set(path, catalog(entry('in', { data: cardAt(origin, { name: 'In' }) })))
  documents.set('/other.json', catalog())
  const { url, registry } = await registryServer({ catalogs: { maxKept: 1 } })
  expect((await post(`${url}/catalogs`, { url: `${origin}${path}` })).status).toBe(200)
  const second = await post(`${url}/catalogs`, { url: `${origin}/other.json` })
  expect(second).toMatchObject({
    status: 403,
    body: { error: { message: expect.stringContaining('remove one first') } },
  })
  await registry.addCatalog(`${origin}/other.json`)
  const { body, headers } = await ask(`${url}/catalogs`)
  const told = { readAt: expect.stringMatching(/Z$/), nextAt: expect.stringMatching(/Z$/), failures: 0 }
  expect(body.catalogs).toEqual([
    { url: `${origin}${path}`, ...told },
    { url: `${origin}/other.json`, ...told },
  ])
  const known = { headers: { 'if-none-match': headers.get('etag') ?? '' } }
  expect((await ask(`${url}/catalogs`, known)).status).toBe(304)
  const remove = async (name: string) =>
    (await ask(`${url}/catalogs/${encodeURIComponent(`${origin}${name}`)}`, { method: 'DELETE' })).status
  expect([await remove('/other.json'), await remove(path), await remove(path)]).toEqual([403, 204, 404])
  expect((await registry.search()).totalCount).toBe(0)
})

it('who adds agents may have so many, is told so, and may go on after removing one', async () => {
  const { origin, documents } = await place()
  for (const name of ['a', 'b', 'c']) documents.set(`/${name}.json`, cardAt(origin, { name }))
  documents.set(path, catalog(entry('b', { url: '/b.json' }), entry('c', { url: '/c.json' })))
  const { url, registry } = await registryServer({ maxPerOwner: 1 })
  const add = (name: string) => post(`${url}/agents`, { url: `${origin}/${name}.json` })
  expect((await add('a')).status).toBe(201)
  expect((await add('a')).status).toBe(201)
  const told = expect.stringContaining('You have 1 agents here')
  expect(await add('b')).toMatchObject({ status: 403, body: { error: { message: told } } })
  const { body } = await post(`${url}/catalogs`, { url: `${origin}${path}` })
  expect(body).toMatchObject({ added: [], refused: [{ problem: told }, { problem: told }] })
  await ask(`${url}/agents/${encodeURIComponent(`${origin}/a.json`)}`, { method: 'DELETE' })
  expect((await add('b')).status).toBe(201)
  await registry.add(`${origin}/c.json`)
  expect((await registry.search()).totalCount).toBe(2)
})
