import { expect } from 'vitest'
import { createMemoryEntries, type EntryStore, type RegistryEntry } from '../../src/entries/registry.ts'
import { a2aEntry, entryOf } from '../contracts/registry-entries.ts'
import type { Random } from '../support/random.ts'

/** More than the stores count before they take a term for a common one. */
const many = 1_400
const since = 500
/** Of about a thousand different ones. */
const asked = 300

/** Fills a store and one in memory alike, changes both, and compares what they find. */
export async function findsAsInMemory(entries: EntryStore, random: Random): Promise<void> {
  const plain = createMemoryEntries()
  const both = async (work: (store: EntryStore) => Promise<unknown>) => {
    const [one, other] = [await work(entries), await work(plain)]
    expect(one).toEqual(other)
  }
  for (let at = 0; at < many; at++) {
    const entry = someEntry(at, random)
    const index = { terms: termsOf(at, random), rank: random.below(4) }
    await both((store) => store.put(entry, index))
  }
  for (let count = 0; count < 60; count++) {
    const at = random.below(many)
    const entry = someEntry(at, random)
    const index = { terms: termsOf(at, random), rank: random.below(4) }
    const { id } = entry
    const trouble = random.chance(0.5) ? 'said' : null
    if (random.chance(0.3)) await both((store) => store.remove(id))
    else if (random.chance(0.5)) await both((store) => store.note(entry, index, 'updated'))
    else await both((store) => store.touch(id, 1_000, trouble))
  }
  const all = [...queries()]
  for (let count = 0; count < asked; count++) {
    const query = random.pick(all)
    const [found, expected] = [await entries.find(query), await plain.find(query)]
    const said = (each: typeof found) => ({ query, total: each.total, ids: each.entries.map(({ id }) => id) })
    expect(said(found)).toEqual(said(expected))
  }
}

function someEntry(at: number, random: Random): RegistryEntry {
  const name = `agent ${String(at).padStart(5, '0')}`
  const trouble = random.chance(0.02) ? ({ trouble: 'unreachable' } as const) : {}
  if (at % 10 === 0) return { ...a2aEntry(`https://${at}.example/card.json`), name, ...trouble }
  return { ...entryOf(`agent-${at}`, { name, seen: random.chance(0.02) ? 1 : 999 }), ...trouble }
}

function termsOf(at: number, random: Random): readonly string[] {
  return [
    'c:everyone',
    ...(random.chance(0.9) ? ['c:most'] : []),
    ...(at % 200 === 7 ? ['c:few'] : []),
    'w:agent',
    ...(random.chance(0.8) ? ['w:agents'] : []),
    ...(random.chance(0.01) ? ['w:agency', 'w:tea'] : []),
    `w:n${at}`,
  ]
}

function* queries() {
  const termSets = [[], ['c:everyone'], ['c:few'], ['c:most', 'c:everyone'], ['c:everyone', 'c:few'], ['c:nobody']]
  const prefixSets = [[], ['w:agent'], ['w:a'], ['w:te'], ['w:agent', 'w:n1'], ['w:zz']]
  const kinds = [undefined, 'mesh', 'a2a'] as const
  const healths = [undefined, { isHealthy: true, since }, { isHealthy: false, since }]
  const after = { name: 'agent 00700', id: 'agent-700' }
  for (const terms of termSets) {
    for (const prefixes of prefixSets) {
      for (const kind of kinds) {
        for (const health of healths) {
          const query = { terms, prefixes, limit: 20, ...(kind && { kind }), ...(health && { health }) }
          yield query
          yield { ...query, after }
          yield { ...query, order: 'best', uncounted: true } as const
        }
      }
    }
  }
}
