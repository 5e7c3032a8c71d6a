import { expect, it } from 'vitest'
import type { A2AEntry, Sightings } from './entry.ts'
import { rankOf } from './search.ts'

const good = { ok: true, at: 1 }
const bad = { ok: false, at: 1 }

function entryOf(sightings: Sightings): A2AEntry {
  const about = { description: '', version: '', skills: [], features: [] }
  const times = { seen: 1, added: 1, changed: 1, failures: 0 }
  return { kind: 'a2a', id: 'x', name: 'x', endpoint: 'x', card: {}, about, ...times, sightings }
}

it('ranks by what was seen, and then by how fast it was', () => {
  const best: readonly Sightings[] = [
    { reachable: good, conforms: good, completed: { ...good, latency: 20 } },
    { reachable: good, conforms: good, completed: { ...good, latency: 900 } },
    { reachable: { ...good, latency: 5 }, conforms: good },
    { reachable: { ...good, latency: 9 }, conforms: good },
    { conforms: good },
    { reachable: good, conforms: good, completed: bad },
    { reachable: { ...good, latency: 1 }, conforms: bad },
  ]
  const ranks = best.map((sightings) => rankOf(entryOf(sightings)))
  expect(ranks).toEqual(ranks.toSorted((one, other) => one - other))
  expect(new Set(ranks).size).toBe(best.length)
})
