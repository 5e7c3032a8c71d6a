import { join } from 'node:path'
import { createPostgresEntries } from 'parley-a2a/postgres'
import { createRegistry, type EntryStore, type Registry } from 'parley-a2a/registry'
import { createSqliteEntries } from 'parley-a2a/sqlite'
import pg from 'pg'
import { interleave, median } from './measure.ts'
import { meshCard } from './mesh-card.ts'
import type { Answer, Question, Verdict } from './report.ts'
import { withPostgres } from './with-postgres.ts'
import { withDirectory } from './work-directory.ts'

const [few, many] = [100, 10_000]
const rounds = 11
const calls = 30

/** What is measured only reads; without it, to fill the tables takes minutes. */
const unsafe = { fsync: 'off', synchronous_commit: 'off' }

type Ask = (registry: Registry) => Promise<{ readonly total: number }>

/** Ten agents share a group, however many there are; a hundredth of all is not healthy. */
const questions: Readonly<Record<string, Ask>> = {
  'a capability that 10 have': (registry) => discover(registry, { capabilities: ['group-3'] }),
  'two capabilities, healthy': (registry) =>
    discover(registry, { capabilities: ['everyone', 'group-3'], filters: { status: 'healthy' } }),
  everybody: (registry) => discover(registry),
  'everybody healthy': (registry) => discover(registry, { filters: { status: 'healthy' } }),
  'a capability that all have': (registry) => discover(registry, { capabilities: ['everyone'] }),
  'a capability that all have, healthy': (registry) =>
    discover(registry, { capabilities: ['everyone'], filters: { status: 'healthy' } }),
  'two capabilities that all have': (registry) => discover(registry, { capabilities: ['everyone', 'anything'] }),
  'skill and words': (registry) => search(registry, { skill: 'Group-3', text: 'agent grou' }),
  'a word that all have': (registry) => search(registry, { text: 'agent' }),
  'how a word begins that all have': (registry) => search(registry, { text: 'ag' }),
  'two words that all have, healthy': (registry) => search(registry, { text: 'agent answers', status: 'healthy' }),
}

/** What discovery among ten thousand agents costs, beside the same among a hundred. */
export const discovery: Question = {
  name: 'discovery',
  ask: () => withDirectory(measure),
}

async function measure(directory: string): Promise<Answer> {
  const sqlite = await compare('SQLite', async (name) => createSqliteEntries({ file: join(directory, `${name}.db`) }))
  const postgres = await withPostgres(async (url) => {
    const pool = new pg.Pool({ connectionString: url })
    try {
      return await compare('PostgreSQL', (name) => createPostgresEntries({ pool, schema: name }))
    } finally {
      await pool.end()
    }
  }, unsafe)
  return {
    title: `Discovery among ${many.toLocaleString('en')} agents, beside ${few}`,
    verdicts: [...sqlite.verdicts, ...postgres.verdicts],
    details: [...sqlite.details, ...postgres.details],
    notes: [
      'Each question also tells how many there are, and gives up to 100 of them. How many have two terms, or a word that begins so, is counted once for each change of the registry.',
    ],
  }
}

type Open = (name: string) => Promise<EntryStore>

async function compare(what: string, open: Open): Promise<Pick<Answer, 'verdicts' | 'details'>> {
  const small = await fill(await open('few'), few)
  const large = await fill(await open('many'), many)
  const verdicts: Verdict[] = []
  const details: Record<string, string | number>[] = []
  try {
    for (const [question, ask] of Object.entries(questions)) {
      const candidates = { few: () => cost(small.registry, ask), many: () => cost(large.registry, ask) }
      await interleave(3, candidates)
      const measured = await interleave(rounds, candidates)
      verdicts.push({
        what: `${what}: ${question}`,
        values: measured.map((round) => round.many / round.few),
        unit: 'x',
        target: { atMost: 3 },
      })
      const time = (name: 'few' | 'many') => Number(median(measured.map((round) => round[name])).toFixed(3))
      const { total } = await ask(large.registry)
      details.push({
        what: `${what}: ${question}`,
        found: total,
        [`ms of ${few}`]: time('few'),
        [`ms of ${many}`]: time('many'),
      })
    }
  } finally {
    await small.close()
    await large.close()
  }
  return { verdicts, details }
}

async function fill(entries: EntryStore, count: number) {
  const add = async (at: number) => {
    const id = `agent-${String(at).padStart(6, '0')}`
    const group = `group-${Math.floor(at / 10)}`
    const capabilities = ['everyone', 'anything', group]
    const card = { ...meshCard(id), capabilities }
    const endpoint = `https://${id}.example.com/mesh`
    // As the registry makes them of a card.
    const words = ['agent', id.slice(6), 'answers', 'everyone', 'anything', 'group', group.slice(6)]
    const offered = capabilities.flatMap((each) => [`c:${each}`, `s:${each}`, `t:${each}`])
    const terms = [...offered, ...words.map((word) => `w:${word}`)]
    const seen = at % 100 === 50 ? 0 : Date.now()
    await entries.put({ kind: 'mesh', id, name: id, card, endpoint, seen }, { terms, rank: 0 })
  }
  for (let at = 0; at < count; at += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - at) }, (_, more) => add(at + more)))
  }
  const fetch = Object.assign(globalThis.fetch.bind(globalThis), { check: async () => {} })
  const registry = createRegistry({ entries, fetch, upkeep: false, unhealthyAfter: 86_400_000 })
  const close = async () => {
    await registry.close()
    await entries.close()
  }
  return { registry, close }
}

/** Milliseconds of one. */
async function cost(registry: Registry, ask: Ask): Promise<number> {
  const begun = performance.now()
  for (let left = calls; left > 0; left--) await ask(registry)
  return (performance.now() - begun) / calls
}

async function discover(registry: Registry, query: Parameters<Registry['discover']>[0] = {}) {
  return { total: (await registry.discover(query)).total_count }
}

async function search(registry: Registry, query: Parameters<Registry['search']>[0]) {
  return { total: (await registry.search(query)).totalCount }
}
