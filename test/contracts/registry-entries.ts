import { expect, it, onTestFinished } from 'vitest'
import type { EntryStore, RegistryEntry } from '../../src/registry/index.ts'
import { meshCard } from '../support/mesh.ts'

export type OpenEntries = (options: { readonly capacity?: number }) => Promise<EntryStore>

/** What every store of registry entries does. */
export function registryEntriesContract(open: OpenEntries): void {
  async function opened(options: { readonly capacity?: number } = {}): Promise<EntryStore> {
    const entries = await open(options)
    onTestFinished(() => entries.close())
    return entries
  }

  it('gives back what was put, until it is removed', async () => {
    const entries = await opened()
    const entry = entryOf('tea-agent', { fingerprint: 'sha256:ab', trouble: 'said' })
    expect(await entries.put(entry)).toBe(true)
    expect(await entries.get('tea-agent')).toEqual(entry)
    expect(await entries.remove('tea-agent')).toBe(true)
    expect(await entries.remove('tea-agent')).toBe(false)
    expect(await entries.get('tea-agent')).toBeUndefined()
    expect(await entries.find({ capabilities: ['prices'], limit: 10 })).toEqual({ entries: [], total: 0 })
  })

  it('forgets what an agent no longer offers when it registers again', async () => {
    const entries = await opened()
    await entries.put(entryOf('tea-agent', {}, ['prices', 'news']))
    await entries.put(entryOf('tea-agent', {}, ['weather']))
    expect((await entries.find({ capabilities: ['news'], limit: 10 })).total).toBe(0)
    expect((await entries.find({ capabilities: ['weather'], limit: 10 })).total).toBe(1)
    expect((await entries.find({ limit: 10 })).total).toBe(1)
  })

  it('finds those that have all of the capabilities, written exactly so', async () => {
    const entries = await opened()
    await entries.put(entryOf('both-agent', {}, ['prices', 'news']))
    await entries.put(entryOf('news-agent', {}, ['news', 'Prices']))
    expect(idsOf(await entries.find({ capabilities: ['news', 'prices'], limit: 10 }))).toEqual(['both-agent'])
    expect(idsOf(await entries.find({ capabilities: ['news', 'tea'], limit: 10 }))).toEqual([])
    expect(idsOf(await entries.find({ capabilities: [], limit: 10 }))).toEqual(['both-agent', 'news-agent'])
  })

  it('tells them by name and then by id, and counts what is beyond the limit', async () => {
    const entries = await opened()
    for (const id of ['c-agent', 'a-agent', 'b-agent']) {
      await entries.put({ ...entryOf(id), card: meshCard(id, { name: id === 'c-agent' ? 'A' : 'B' }) })
    }
    const found = await entries.find({ limit: 2 })
    expect(idsOf(found)).toEqual(['c-agent', 'a-agent'])
    expect(found.total).toBe(3)
  })

  it('tells the healthy from the others by when they were seen, and by their trouble', async () => {
    const entries = await opened()
    await entries.put(entryOf('fresh-agent', { seen: 100 }))
    await entries.put(entryOf('old-agent', { seen: 99 }))
    await entries.put(entryOf('sick-agent', { seen: 200, trouble: 'unreachable' }))
    const healthy = await entries.find({ health: { isHealthy: true, since: 100 }, limit: 10 })
    expect(idsOf(healthy)).toEqual(['fresh-agent'])
    const others = await entries.find({ capabilities: ['prices'], health: { isHealthy: false, since: 100 }, limit: 1 })
    expect(idsOf(others)).toEqual(['old-agent'])
    expect(others.total).toBe(2)
  })

  it('remembers when an agent was last seen, never earlier, and how it is', async () => {
    const entries = await opened()
    await entries.put(entryOf('tea-agent', { seen: 100 }))
    expect(await entries.touch('tea-agent', 200, 'said')).toMatchObject({ seen: 200, trouble: 'said' })
    expect(await entries.touch('tea-agent', 150)).toMatchObject({ seen: 200, trouble: 'said' })
    expect(await entries.touch('tea-agent', 250, null)).toEqual(entryOf('tea-agent', { seen: 250 }))
    expect(await entries.touch('no-agent', 250)).toBeUndefined()
  })

  it('removes those of long ago, so many at once', async () => {
    const entries = await opened()
    for (const [index, id] of ['a-agent', 'b-agent', 'c-agent'].entries()) {
      await entries.put(entryOf(id, { seen: index }))
    }
    expect(await entries.expire(2, 1)).toHaveLength(1)
    expect(await entries.expire(2, 10)).toHaveLength(1)
    expect(idsOf(await entries.find({ capabilities: ['prices'], limit: 10 }))).toEqual(['c-agent'])
  })

  it('takes nobody new when it is full, and those that it knows all the same', async () => {
    const entries = await opened({ capacity: 1 })
    expect(await entries.put(entryOf('a-agent'))).toBe(true)
    expect(await entries.put(entryOf('b-agent'))).toBe(false)
    expect(await entries.put(entryOf('a-agent', { seen: 7 }))).toBe(true)
    expect((await entries.get('a-agent'))?.seen).toBe(7)
  })
}

function entryOf(id: string, more: Partial<RegistryEntry> = {}, capabilities = ['prices']): RegistryEntry {
  const card = meshCard(id, { capabilities })
  return { id, card, endpoint: `https://${id}.example.com/mesh`, seen: 1, ...more }
}

function idsOf({ entries }: { readonly entries: readonly RegistryEntry[] }): readonly string[] {
  return entries.map(({ id }) => id)
}
