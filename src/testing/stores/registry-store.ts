import type { A2AEntry, MeshEntry, RegistryEntry, RegistryStore } from '../../registry/entry.ts'
import { searchConditions, termsOf } from '../../registry/search.ts'
import { expect } from './expect.ts'
import { operatorStateTests } from './operator-state.ts'
import { type StoreTest, storeTest } from './store-test.ts'

/** The options with which the tests open a registry store. */
export interface RegistryTestOptions {
  readonly capacity?: number
  readonly changesKept?: number
}

/** The behaviour of every store of registry entries. */
export const registryStoreTests: readonly StoreTest<RegistryStore, RegistryTestOptions>[] = [
  ...operatorStateTests<RegistryStore, RegistryTestOptions>(({ operator }) => {
    if (!operator) throw new Error('This store has nothing for operators: it has no `operator`.')
    return operator
  }),
  storeTest('a stored entry can be read until it is removed', async (entries) => {
    const entry = entryOf('tea-agent', { fingerprint: 'sha256:ab', trouble: 'said', owner: 'alice' })
    expect(await put(entries, entry)).toBe('added')
    expect(await entries.get('tea-agent')).toEqual(entry)
    expect(await entries.remove('tea-agent')).toBe(true)
    expect(await entries.remove('tea-agent')).toBe(false)
    expect(await entries.get('tea-agent')).toBeUndefined()
    expect(await entries.find({ terms: ['c:prices'], limit: 10 })).toEqual({ entries: [], total: 0 })
    expect(await entries.find({ limit: 10 })).toEqual({ entries: [], total: 0 })
  }),
  storeTest('signs and emoji in a search are text, not wildcards', async (entries) => {
    const texts = { percent: '100% tea', under: 'tea_pot', rocket: 'Launches \u{1f680} tea', plain: '100 teapots' }
    for (const [name, description] of Object.entries(texts)) {
      const blank = a2aEntry(`https://${name}.example/card.json`)
      const entry = { ...blank, name, about: { ...blank.about, description } }
      await put(entries, entry, termsOf(entry))
    }
    const found = async (text: string) => {
      const page = await entries.find({ ...searchConditions({ text }), limit: 10 })
      expect(page.total).toBe(page.entries.length)
      return page.entries.map(({ name }) => name)
    }
    expect(await found('%')).toEqual(['percent'])
    expect(await found('100%')).toEqual(['percent'])
    expect(await found('_')).toEqual(['under'])
    expect(await found('tea_pot')).toEqual(['under'])
    expect(await found('\u{1f680}')).toEqual(['rocket'])
    expect(await found('\u{1f680} TEA')).toEqual(['rocket'])
    expect(await found('po%')).toEqual([])
    expect(await found('...')).toEqual([])
    expect(await found('tea')).toEqual(['percent', 'plain', 'rocket', 'under'])
    const long = `${'x'.repeat(199)}\u{1f680}`
    const skilled = { ...a2aEntry('https://long.example/card.json'), name: 'long' }
    const { terms } = searchConditions({ capability: long })
    await put(entries, skilled, terms)
    expect((await entries.find({ terms, limit: 10 })).total).toBe(1)
  }),
  storeTest('entries may contain any text', async (entries) => {
    const name = 'odd \u0000\n\ud800 \\ 名前 \u{1f375}'
    const entry = { ...a2aEntry('https://odd.example/card.json'), name, owner: `o${name}` }
    await put(entries, entry, [`t:${name}`])
    const page = await entries.find({ terms: [`t:${name}`], limit: 10 })
    expect(page.total).toBe(1)
    expect(page.entries[0]).toMatchObject({ id: entry.id, kind: 'a2a' })
    expect(await entries.remove(entry.id)).toBe(true)
  }),
  storeTest('a new registration replaces the terms of the old one', async (entries) => {
    await put(entries, entryOf('tea-agent'), ['c:prices', 'c:news'])
    expect(await put(entries, entryOf('tea-agent', { name: 'Renamed' }), ['c:weather'])).toBe('replaced')
    expect((await entries.find({ terms: ['c:news'], limit: 10 })).total).toBe(0)
    expect((await entries.find({ terms: ['c:weather'], limit: 10 })).total).toBe(1)
    expect((await entries.find({ limit: 10 })).total).toBe(1)
  }),
  storeTest('a search finds the entries that have all terms, case-sensitively', async (entries) => {
    await put(entries, entryOf('both-agent'), ['c:prices', 'c:news'])
    await put(entries, entryOf('news-agent'), ['c:news', 'c:Prices'])
    expect(idsOf(await entries.find({ terms: ['c:news', 'c:prices'], limit: 10 }))).toEqual(['both-agent'])
    expect(idsOf(await entries.find({ terms: ['c:news', 'c:tea'], limit: 10 }))).toEqual([])
    expect(idsOf(await entries.find({ terms: [], limit: 10 }))).toEqual(['both-agent', 'news-agent'])
  }),
  storeTest('a search by prefix finds each entry once', async (entries) => {
    await put(entries, entryOf('tea-agent'), ['w:price', 'w:prices', 'w:tea', 'c:x'])
    await put(entries, entryOf('toy-agent'), ['w:price', 'w:toys'])
    expect(await entries.find({ prefixes: ['w:pri'], limit: 10 })).toMatchObject({ total: 2 })
    expect(idsOf(await entries.find({ prefixes: ['w:pri', 'w:te'], limit: 10 }))).toEqual(['tea-agent'])
    expect(idsOf(await entries.find({ terms: ['c:x'], prefixes: ['w:t'], limit: 10 }))).toEqual(['tea-agent'])
    expect(await entries.find({ terms: ['c:x'], prefixes: ['w:z'], limit: 10 })).toEqual({ entries: [], total: 0 })
  }),
  storeTest('entries are sorted by name and id, paged, and counted in total', async (entries) => {
    for (const id of ['c-agent', 'a-agent', 'b-agent']) {
      await put(entries, entryOf(id, { name: id === 'c-agent' ? 'A' : 'B' }))
    }
    for (const query of [{}, { terms: ['c:prices'] }, { prefixes: ['c:p'] }, { kind: 'mesh' as const }]) {
      const page = await entries.find({ ...query, limit: 2 })
      expect(idsOf(page)).toEqual(['c-agent', 'a-agent'])
      expect(page.total).toBe(3)
      const next = await entries.find({ ...query, after: { name: 'B', id: 'a-agent' }, limit: 2 })
      expect(idsOf(next)).toEqual(['b-agent'])
      expect(next.total).toBe(3)
    }
  }),
  storeTest('a search can be restricted to a kind', async (entries) => {
    await put(entries, entryOf('tea-agent'))
    await put(entries, a2aEntry('https://tea.example/card.json'), ['c:prices'])
    const page = await entries.find({ kind: 'a2a', terms: ['c:prices'], limit: 10 })
    expect(idsOf(page)).toEqual(['https://tea.example/card.json'])
    expect(page.total).toBe(1)
    expect((await entries.find({ terms: ['c:prices'], limit: 10 })).total).toBe(2)
    expect((await entries.find({ kind: 'a2a', limit: 10 })).total).toBe(1)
    expect((await entries.find({ kind: 'a2a', limit: 10, uncounted: true })).total).toBe(0)
    await entries.remove('tea-agent')
    expect((await entries.find({ kind: 'mesh', limit: 10 })).total).toBe(0)
  }),
  storeTest('a search by health considers trouble and, for mesh peers, when they were seen', async (entries) => {
    await put(entries, entryOf('fresh-agent', { seen: 100 }))
    await put(entries, entryOf('old-agent', { seen: 99 }))
    await put(entries, entryOf('sick-agent', { seen: 200, trouble: 'unreachable' }))
    await put(entries, { ...a2aEntry('https://tea.example/'), seen: 1 }, ['c:prices'])
    const healthy = await entries.find({ health: { isHealthy: true, since: 100 }, limit: 10 })
    expect(idsOf(healthy)).toEqual(['fresh-agent', 'https://tea.example/'])
    const others = await entries.find({ terms: ['c:prices'], health: { isHealthy: false, since: 100 }, limit: 1 })
    expect(idsOf(others)).toEqual(['old-agent'])
    expect(others.total).toBe(2)
    const count = async (isHealthy: boolean, kind?: 'mesh' | 'a2a', terms: string[] = []) =>
      (await entries.find({ health: { isHealthy, since: 100 }, limit: 1, terms, ...(kind && { kind }) })).total
    for (const terms of [[], ['c:prices']]) {
      expect(await count(true, undefined, terms)).toBe(2)
      expect(await count(false, undefined, terms)).toBe(2)
      expect(await count(true, 'mesh', terms)).toBe(1)
      expect(await count(false, 'mesh', terms)).toBe(2)
      expect(await count(true, 'a2a', terms)).toBe(1)
      expect(await count(false, 'a2a', terms)).toBe(0)
    }
  }),
  storeTest('a search by rank puts the best entries first and unhealthy ones last', async (entries) => {
    for (const [id, rank] of [
      ['a-agent', 30],
      ['b-agent', 10],
      ['c-agent', 20],
    ] as const) {
      await entries.put(entryOf(id), { terms: ['c:prices'], rank })
    }
    await entries.touch('b-agent', 1, 'unreachable')
    for (const query of [{}, { terms: ['c:prices'] }]) {
      const page = await entries.find({ ...query, order: 'best', limit: 10 })
      expect(idsOf(page)).toEqual(['c-agent', 'a-agent', 'b-agent'])
    }
  }),
  storeTest(
    'touching an entry updates when it was seen, never to an earlier time, and its trouble',
    async (entries) => {
      await put(entries, entryOf('tea-agent', { seen: 100 }))
      expect(await entries.touch('tea-agent', 200, 'said')).toMatchObject({ seen: 200, trouble: 'said' })
      expect(await entries.touch('tea-agent', 150)).toMatchObject({ seen: 200, trouble: 'said' })
      expect(await entries.touch('tea-agent', 250, null)).toEqual(entryOf('tea-agent', { seen: 250 }))
      expect(await entries.touch('no-agent', 250)).toBeUndefined()
      expect(await entries.touch('no-agent', 250, 'said')).toBeUndefined()
    },
  ),
  storeTest('expiry removes old entries of one kind, up to the limit', async (entries) => {
    for (const [index, id] of ['a-agent', 'b-agent', 'c-agent'].entries()) {
      await put(entries, entryOf(id, { seen: index }))
    }
    await put(entries, { ...a2aEntry('https://tea.example/'), seen: 0 })
    expect(await entries.expire('mesh', 2, 1)).toHaveLength(1)
    expect(await entries.expire('mesh', 2, 10)).toHaveLength(1)
    expect(await entries.expire('mesh', 2, 10)).toEqual([])
    expect(idsOf(await entries.find({ terms: ['c:prices'], limit: 10 }))).toEqual(['c-agent', 'https://tea.example/'])
    expect((await entries.find({ limit: 10 })).total).toBe(2)
  }),
  storeTest(
    'a full store refuses new entries and accepts updates',
    async (entries) => {
      expect(await put(entries, entryOf('a-agent'))).toBe('added')
      expect(await put(entries, entryOf('b-agent'))).toBe('full')
      expect(await put(entries, entryOf('a-agent', { seen: 7 }))).toBe('replaced')
      expect((await entries.get('a-agent'))?.seen).toBe(7)
      await entries.remove('a-agent')
      expect(await put(entries, entryOf('b-agent'))).toBe('added')
    },
    { capacity: 1 },
  ),
  storeTest('an entry cannot be replaced by another owner, even concurrently', async (entries) => {
    const entry = a2aEntry('https://tea.example/')
    const puts = await Promise.all(['alice', 'bob'].map((owner) => put(entries, { ...entry, owner })))
    expect(puts.toSorted()).toEqual(['added', 'taken'])
    expect(await put(entries, entry)).toBe('taken')
  }),
  storeTest('noting updates an existing entry and keeps its owner', async (entries) => {
    const entry = a2aEntry('https://tea.example/')
    expect(await entries.note(entry, { terms: [], rank: 1 })).toBe(false)
    await put(entries, { ...entry, owner: 'alice' }, ['s:old'])
    expect(await entries.note({ ...entry, name: 'New' }, { terms: ['s:new'], rank: 1, due: 5 }, 'updated')).toBe(true)
    expect(await entries.get(entry.id)).toMatchObject({ name: 'New', owner: 'alice' })
    expect((await entries.find({ terms: ['s:old'], limit: 1 })).total).toBe(0)
    expect((await entries.find({ terms: ['s:new'], limit: 1 })).total).toBe(1)
  }),
  storeTest('due entries are listed, the most urgent first', async (entries) => {
    for (const [id, due] of [
      ['a-agent', 30],
      ['b-agent', 10],
      ['c-agent', 20],
    ] as const) {
      await entries.put(entryOf(id), { terms: [], rank: 0, due })
    }
    await put(entries, entryOf('d-agent'))
    expect((await entries.due(20, 10)).map(({ id }) => id)).toEqual(['b-agent', 'c-agent'])
    expect((await entries.due(99, 1)).map(({ id }) => id)).toEqual(['b-agent'])
    await entries.schedule('b-agent', 40)
    expect((await entries.due(30, 10)).map(({ id }) => id)).toEqual(['c-agent', 'a-agent'])
  }),
  storeTest('the number of entries per owner is limited, except for the operator', async (entries) => {
    const limits = { maxOwned: 2 }
    const add = (id: string, owner?: string) =>
      entries.put(entryOf(id, owner === undefined ? {} : { owner }), { terms: [], rank: 0 }, limits)
    const owned = [await add('a-agent', 'alice'), await add('b-agent', 'alice'), await add('c-agent', 'alice')]
    expect(owned).toEqual(['added', 'added', 'crowded'])
    expect(await add('b-agent', 'alice')).toBe('replaced')
    expect([await add('d-agent', 'bob'), await add('e-agent'), await add('f-agent'), await add('g-agent')]).toEqual(
      Array(4).fill('added'),
    )
    await entries.remove('a-agent')
    expect(await add('c-agent', 'alice')).toBe('added')
    expect(await entries.get('h-agent')).toBeUndefined()
  }),
  storeTest('catalogs are stored until they are dropped', async (entries) => {
    const url = 'https://tea.example/.well-known/ai-catalog.json'
    const catalog = { url, due: 5, readAt: 1, failures: 0, inline: [`${url}#a`] }
    await entries.keepCatalog({ ...catalog, owner: 'alice', etag: '"1"' })
    await entries.keepCatalog({ ...catalog, url: 'https://a.example/\u00e4' })
    await entries.keepCatalog({ ...catalog, owner: 'alice', failures: 3 })
    const catalogs = (await entries.catalogs()).toSorted((one, other) => one.url.localeCompare(other.url))
    expect(catalogs).toEqual([
      { ...catalog, url: 'https://a.example/\u00e4' },
      { ...catalog, owner: 'alice', failures: 3 },
    ])
    expect([await entries.dropCatalog(url), await entries.dropCatalog(url)]).toEqual([true, false])
    expect(await entries.catalogs()).toHaveLength(1)
  }),
  storeTest('changes are numbered, and waiting readers are woken', async (entries) => {
    const base = await latestOf(entries)
    const waiting = entries.wait(base, AbortSignal.timeout(5_000))
    await put(entries, entryOf('tea-agent'))
    await waiting
    await put(entries, entryOf('tea-agent'))
    await entries.touch('tea-agent', 5)
    await entries.touch('tea-agent', 6, 'said')
    await entries.touch('tea-agent', 7, 'said')
    await entries.remove('tea-agent')
    const { changes, latest } = await entries.changes(base, 10)
    expect(changes?.map(({ number, type, id }) => `${number - base} ${type} ${id}`)).toEqual([
      '1 registered tea-agent',
      '2 updated tea-agent',
      '3 status tea-agent',
      '4 removed tea-agent',
    ])
    expect(latest).toBe(base + 4)
    expect((await entries.changes(base + 2, 1)).changes).toMatchObject([{ number: base + 3 }])
    expect((await entries.changes(latest, 10)).changes).toEqual([])
    await entries.wait(latest - 1, AbortSignal.timeout(5_000))
  }),
  storeTest(
    'a reader that is too far behind gets no changes',
    async (entries) => {
      const base = await latestOf(entries)
      for (const id of ['a-agent', 'b-agent', 'c-agent']) await put(entries, entryOf(id))
      const latest = base + 3
      expect(await entries.changes(base, 10)).toEqual({ changes: undefined, latest })
      expect((await entries.changes(base + 1, 10)).changes).toHaveLength(2)
      expect(await entries.changes(latest + 1, 10)).toEqual({ changes: undefined, latest })
      expect(await entries.changes(0, 10)).toEqual({ changes: undefined, latest })
    },
    { changesKept: 2 },
  ),
  storeTest('waiting ends when the signal aborts or the store closes', async (entries) => {
    const leaving = new AbortController()
    const base = await latestOf(entries)
    const [one, other] = [entries.wait(base, leaving.signal), entries.wait(base, new AbortController().signal)]
    leaving.abort()
    await one
    await entries.close()
    await other
  }),
]

export async function latestOf(entries: RegistryStore): Promise<number> {
  return (await entries.changes(0, 1)).latest
}

export function put(entries: RegistryStore, entry: RegistryEntry, terms: readonly string[] = ['c:prices']) {
  return entries.put(entry, { terms, rank: 0 })
}

export function entryOf(id: string, more: Partial<MeshEntry> = {}): MeshEntry {
  const endpoint = `https://${id}.example.com/mesh`
  return { kind: 'mesh', id, name: id, card: meshCardOf(id), endpoint, seen: 1, ...more }
}

function meshCardOf(agentId: string): MeshEntry['card'] {
  return {
    agent_id: agentId,
    name: agentId,
    version: '1.0.0',
    description: `The agent ${agentId}.`,
    capabilities: ['prices'],
    supported_protocols: ['A2A/1.0'],
  }
}

export function a2aEntry(id: string, more: Partial<A2AEntry> = {}): A2AEntry {
  return {
    kind: 'a2a',
    id,
    name: id,
    card: { name: 'Tea' },
    about: { description: '', version: '1', skills: [], features: [] },
    cardUrl: id,
    endpoint: id,
    added: 1,
    changed: 1,
    failures: 0,
    seen: 1,
    sightings: {},
    ...more,
  }
}

function idsOf({ entries }: { readonly entries: readonly RegistryEntry[] }): readonly string[] {
  return entries.map(({ id }) => id)
}
