import { expect } from 'vitest'
import { createMemoryRegistryStore, type RegistryEntry, type RegistryStore } from '../../src/entries/registry.ts'
import { a2aEntry, entryOf } from '../../src/testing/stores/registry-store.ts'
import type { Random } from '../support/random.ts'

/** More than the stores count before they treat a term as common. */
const entryCount = 1_400
const since = 500
/** Out of about a thousand different queries. */
const queryCount = 300

/** Fills a store and a memory store alike, changes both, and compares the results of queries. */
export async function compareWithMemory(entries: RegistryStore, random: Random): Promise<void> {
  const memory = createMemoryRegistryStore()
  const both = async (work: (store: RegistryStore) => Promise<unknown>) => {
    const [actual, expected] = [await work(entries), await work(memory)]
    expect(actual).toEqual(expected)
  }
  for (let number = 0; number < entryCount; number++) {
    const entry = randomEntry(number, random)
    const index = { terms: randomTerms(number, random), rank: random.below(4) }
    await both((store) => store.put(entry, index))
  }
  for (let count = 0; count < 60; count++) {
    const number = random.below(entryCount)
    const entry = randomEntry(number, random)
    const index = { terms: randomTerms(number, random), rank: random.below(4) }
    const { id } = entry
    const trouble = random.chance(0.5) ? 'said' : null
    if (random.chance(0.3)) await both((store) => store.remove(id))
    else if (random.chance(0.5)) await both((store) => store.note(entry, index, 'updated'))
    else await both((store) => store.touch(id, 1_000, trouble))
  }
  const all = [...queries()]
  for (let count = 0; count < queryCount; count++) {
    const query = random.pick(all)
    const [actual, expected] = [await entries.find(query), await memory.find(query)]
    const summaryOf = (page: typeof actual) => ({ query, total: page.total, ids: page.entries.map(({ id }) => id) })
    expect(summaryOf(actual)).toEqual(summaryOf(expected))
  }
}

function randomEntry(number: number, random: Random): RegistryEntry {
  const name = `agent ${String(number).padStart(5, '0')}`
  const trouble = random.chance(0.02) ? ({ trouble: 'unreachable' } as const) : {}
  if (number % 10 === 0) return { ...a2aEntry(`https://${number}.example/card.json`), name, ...trouble }
  return { ...entryOf(`agent-${number}`, { name, seen: random.chance(0.02) ? 1 : 999 }), ...trouble }
}

function randomTerms(number: number, random: Random): readonly string[] {
  return [
    'c:everyone',
    ...(random.chance(0.9) ? ['c:most'] : []),
    ...(number % 200 === 7 ? ['c:few'] : []),
    'w:agent',
    ...(random.chance(0.8) ? ['w:agents'] : []),
    ...(random.chance(0.01) ? ['w:agency', 'w:tea'] : []),
    `w:n${number}`,
  ]
}

function* queries() {
  const termSets = [[], ['c:everyone'], ['c:few'], ['c:most', 'c:everyone'], ['c:everyone', 'c:few'], ['c:none']]
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
