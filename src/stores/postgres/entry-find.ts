import type { EntryQuery, FoundEntries } from '../../registry/entry-store.ts'
import { common, type EntryPlan, type EntrySizes, needsHealth, planOf } from '../entry-plan.ts'
import { countOf, type EntryStatement, healthSize, pageStatement } from '../entry-query.ts'
import { createStableCounts } from '../stable-counts.ts'
import type { Database, Query } from './database.ts'
import { type EntryRow, entryOf } from './entry-rows.ts'
import { encodeText } from './text.ts'

/** Prefixes come behind the terms. */
const apart = 1_000_000
/** So many different questions are kept prepared. */
const maxPrepared = 100

/** A page and how many there are, each by a statement of its own; they go out together. */
export function createFindEntries(db: Database): (query: EntryQuery) => Promise<FoundEntries> {
  const tables = {
    agents: db.name('registry_agents'),
    byHealth: `${db.name('registry_agents')} e`,
    terms: db.name('registry_terms'),
    state: db.name('registry_state'),
    place: (index: number) => `$${index}`,
    join: 'JOIN',
    unindexed: '',
  }
  const counts = db.name('registry_term_counts')
  const state = db.prepare<{ readonly number: number }>(`SELECT number::float8 FROM ${tables.state}`)
  const counted = createStableCounts()
  const known = { all: 'mesh + a2a', mesh: 'mesh', a2a: 'a2a' }
  const prepared = new Map<string, Query<unknown>>()

  function ask<Row>({ text, values }: EntryStatement): Promise<readonly Row[]> {
    let query = prepared.get(text)
    if (!query) {
      if (prepared.size >= maxPrepared) prepared.clear()
      query = db.prepare(text)
      prepared.set(text, query)
    }
    return query(...values) as Promise<readonly Row[]>
  }

  const sizes = db.prepare<{ readonly place: number; readonly size: number }>(`
    SELECT place::float8, coalesce((SELECT sum(total) FROM ${counts} c WHERE c.term = wanted.term AND c.kind IN ($3, $4)), 0)::float8 AS size
    FROM unnest(string_to_array($1, E'\\n')) WITH ORDINALITY AS wanted (term, place)
    UNION ALL
    SELECT place::float8 + ${apart}, coalesce((SELECT sum(total) FROM (
      SELECT total FROM ${counts} c
      WHERE c.term >= wanted.term AND c.term < wanted.term || chr(1114111) AND c.kind IN ($3, $4) LIMIT ${common}) AS few
    ), 0)::float8
    FROM unnest(string_to_array($2, E'\\n')) WITH ORDINALITY AS wanted (term, place)`)

  async function sizesOf({ terms = [], prefixes = [], kind }: EntryQuery): Promise<EntrySizes> {
    if (terms.length + prefixes.length === 0) return { terms: [], prefixes: [] }
    const rows = await sizes(terms.join('\n'), prefixes.join('\n'), kind ?? 'mesh', kind ?? 'a2a')
    const all = rows.toSorted((one, other) => one.place - other.place).map(({ size }) => size)
    return { terms: all.slice(0, terms.length), prefixes: all.slice(terms.length) }
  }

  const total = async (statement: EntryStatement) => Number((await ask<{ total: string }>(statement))[0]?.total ?? 0)

  /** Counted once, until something changes. */
  async function totalOnce(statement: EntryStatement): Promise<number> {
    const { number = 0 } = (await state())[0] ?? {}
    const question = JSON.stringify(statement)
    const known = counted.get(question, number)
    if (known !== undefined) return known
    const found = await total(statement)
    counted.set(question, number, found)
    return found
  }

  async function totalOf(plan: EntryPlan): Promise<number> {
    const count = countOf(plan, tables)
    if (!count) return 0
    const { all, isStable, without } = count
    const [whole, left] = await Promise.all([
      'exact' in all
        ? all.exact
        : 'known' in all
          ? total({ text: `SELECT ${known[all.known]} AS total FROM ${tables.state}`, values: [] })
          : isStable
            ? totalOnce(all)
            : total(all),
      without ? total(without) : 0,
    ])
    return whole - left
  }

  return async (asked) => {
    const query = encoded(asked)
    const found = await sizesOf(query)
    const health = needsHealth(query, found) ? await total(healthSize(query, tables)) : undefined
    const plan = planOf(query, found, health)
    const [rows, all] = await Promise.all([ask<EntryRow>(pageStatement(plan, tables)), totalOf(plan)])
    return { entries: rows.map(entryOf), total: all }
  }
}

function encoded({ terms, prefixes, after, ...query }: EntryQuery): EntryQuery {
  return {
    ...query,
    ...(terms && { terms: terms.map(encodeText) }),
    ...(prefixes && { prefixes: prefixes.map(encodeText) }),
    ...(after && { after: { name: encodeText(after.name), id: encodeText(after.id) } }),
  }
}
