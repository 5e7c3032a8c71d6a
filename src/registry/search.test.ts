import { expect, it } from 'vitest'
import type { A2AEntry, Observations } from './entry.ts'
import { rankOf } from './search.ts'

const passed = { ok: true, at: 1 }
const failed = { ok: false, at: 1 }

function entryOf(sightings: Observations): A2AEntry {
  const about = { description: '', version: '', skills: [], features: [] }
  const times = { seen: 1, added: 1, changed: 1, failures: 0 }
  return { kind: 'a2a', id: 'x', name: 'x', endpoint: 'x', card: {}, about, ...times, sightings }
}

it('agents are ranked by the results of their checks, then by latency', () => {
  const bestFirst: readonly Observations[] = [
    { reachable: passed, conforms: passed, completed: { ...passed, latency: 20 } },
    { reachable: passed, conforms: passed, completed: { ...passed, latency: 900 } },
    { reachable: { ...passed, latency: 5 }, conforms: passed },
    { reachable: { ...passed, latency: 9 }, conforms: passed },
    { conforms: passed },
    { reachable: passed, conforms: passed, completed: failed },
    { reachable: { ...passed, latency: 1 }, conforms: failed },
  ]
  const ranks = bestFirst.map((sightings) => rankOf(entryOf(sightings)))
  expect(ranks).toEqual(ranks.toSorted((one, other) => one - other))
  expect(new Set(ranks).size).toBe(bestFirst.length)
})
