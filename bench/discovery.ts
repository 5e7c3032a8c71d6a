import { join } from 'node:path'
import { createPostgresRegistryStore } from 'parley-a2a/postgres'
import { createRegistry, type Registry, type RegistryStore } from 'parley-a2a/registry'
import { createSqliteRegistryStore } from 'parley-a2a/sqlite'
import pg from 'pg'
import { interleave, median } from './measure.ts'
import { meshCard } from './mesh-card.ts'
import type { Benchmark, BenchmarkResult, Comparison } from './report.ts'
import { withPostgres } from './with-postgres.ts'
import { withDirectory } from './work-directory.ts'

const [few, many] = [100, 10_000]
const rounds = 11
const calls = 30

/** The benchmark measures reads only; with durable writes, filling the tables takes minutes. */
const unsafe = { fsync: 'off', synchronous_commit: 'off' }

type Query = (registry: Registry) => Promise<{ readonly total: number }>

/** Ten agents share each group; one percent of the agents are unhealthy. */
const queries: Readonly<Record<string, Query>> = {
  'a capability that 10 have': (registry) => discover(registry, { capabilities: ['group-3'] }),
  'two capabilities, healthy': (registry) =>
    discover(registry, { capabilities: ['everyone', 'group-3'], filters: { status: 'healthy' } }),
  'all agents': (registry) => discover(registry),
  'all healthy agents': (registry) => discover(registry, { filters: { status: 'healthy' } }),
  'a capability that all have': (registry) => discover(registry, { capabilities: ['everyone'] }),
  'a capability that all have, healthy': (registry) =>
    discover(registry, { capabilities: ['everyone'], filters: { status: 'healthy' } }),
  'two capabilities that all have': (registry) => discover(registry, { capabilities: ['everyone', 'anything'] }),
  'skill and words': (registry) => search(registry, { skill: 'Group-3', text: 'agent grou' }),
  'a word that all have': (registry) => search(registry, { text: 'agent' }),
  'the start of a word that all have': (registry) => search(registry, { text: 'ag' }),
  'two words that all have, healthy': (registry) => search(registry, { text: 'agent answers', status: 'healthy' }),
}

/** Cost of discovery among ten thousand agents, compared with a hundred. */
export const discovery: Benchmark = {
  name: 'discovery',
  run: () => withDirectory(measure),
}

async function measure(directory: string): Promise<BenchmarkResult> {
  const sqlite = await compare('SQLite', async (name) =>
    createSqliteRegistryStore({ file: join(directory, `${name}.db`) }),
  )
  const postgres = await withPostgres(async (url) => {
    const pool = new pg.Pool({ connectionString: url })
    try {
      return await compare('PostgreSQL', (name) => createPostgresRegistryStore({ pool, schema: name }))
    } finally {
      await pool.end()
    }
  }, unsafe)
  return {
    title: `Discovery among ${many.toLocaleString('en')} agents, compared with ${few}`,
    comparisons: [...sqlite.comparisons, ...postgres.comparisons],
    details: [...sqlite.details, ...postgres.details],
    notes: [
      'Each query also counts the matches and returns up to 100 of them. Counts for two terms and for word starts are computed once per change of the registry.',
    ],
  }
}

type Open = (name: string) => Promise<RegistryStore>

async function compare(store: string, open: Open): Promise<Pick<BenchmarkResult, 'comparisons' | 'details'>> {
  const small = await fill(await open('few'), few)
  const large = await fill(await open('many'), many)
  const comparisons: Comparison[] = []
  const details: Record<string, string | number>[] = []
  try {
    for (const [query, run] of Object.entries(queries)) {
      const candidates = { few: () => cost(small.registry, run), many: () => cost(large.registry, run) }
      await interleave(3, candidates)
      const measured = await interleave(rounds, candidates)
      comparisons.push({
        label: `${store}: ${query}`,
        values: measured.map((round) => round.many / round.few),
        unit: 'x',
        target: { atMost: 3 },
      })
      const time = (name: 'few' | 'many') => Number(median(measured.map((round) => round[name])).toFixed(3))
      const { total } = await run(large.registry)
      details.push({
        what: `${store}: ${query}`,
        found: total,
        [`ms of ${few}`]: time('few'),
        [`ms of ${many}`]: time('many'),
      })
    }
  } finally {
    await small.close()
    await large.close()
  }
  return { comparisons, details }
}

async function fill(entries: RegistryStore, count: number) {
  const add = async (index: number) => {
    const id = `agent-${String(index).padStart(6, '0')}`
    const group = `group-${Math.floor(index / 10)}`
    const capabilities = ['everyone', 'anything', group]
    const card = { ...meshCard(id), capabilities }
    const endpoint = `https://${id}.example.com/mesh`
    // The terms that the registry creates from such a card.
    const words = ['agent', id.slice(6), 'answers', 'everyone', 'anything', 'group', group.slice(6)]
    const prefixed = capabilities.flatMap((name) => [`c:${name}`, `s:${name}`, `t:${name}`])
    const terms = [...prefixed, ...words.map((word) => `w:${word}`)]
    const seen = index % 100 === 50 ? 0 : Date.now()
    await entries.put({ kind: 'mesh', id, name: id, card, endpoint, seen }, { terms, rank: 0 })
  }
  for (let index = 0; index < count; index += 50) {
    await Promise.all(Array.from({ length: Math.min(50, count - index) }, (_, more) => add(index + more)))
  }
  const fetch = Object.assign(globalThis.fetch.bind(globalThis), { check: async () => {} })
  const registry = createRegistry({ entries, fetch, maintenance: false, unhealthyAfter: 86_400_000 })
  const close = async () => {
    await registry.close()
    await entries.close()
  }
  return { registry, close }
}

/** Milliseconds per query. */
async function cost(registry: Registry, query: Query): Promise<number> {
  const start = performance.now()
  for (let left = calls; left > 0; left--) await query(registry)
  return (performance.now() - start) / calls
}

async function discover(registry: Registry, query: Parameters<Registry['discover']>[0] = {}) {
  return { total: (await registry.discover(query)).total_count }
}

async function search(registry: Registry, query: Parameters<Registry['search']>[0]) {
  return { total: (await registry.search(query)).totalCount }
}
