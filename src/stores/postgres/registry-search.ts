import type { EntryKind, EntryPage, EntryQuery, RegistryEntry } from '../../registry/entry.ts'
import {
  common,
  countOf,
  createStableCounts,
  type EntryPlan,
  type EntrySizes,
  type EntryStatement,
  healthSize,
  needsHealth,
  pageStatement,
  planOf,
} from '../registry-query.ts'
import type { Ask, Database, Query } from './connection.ts'
import { decodeText, encodeText, lines } from './sql-text.ts'

/** Prefixes come behind the terms. */
const apart = 1_000_000

/** So many different questions are kept prepared. */
const maxPrepared = 100

export const entryColumns = 'id, name, kind, owner, seen, trouble, entry'

/** In the order of the columns. */
export function valuesOf(entry: RegistryEntry) {
  const { owner, seen, trouble, ...rest } = entry
  const { id, name, kind } = rest
  const ownedBy = owner === undefined ? null : encodeText(owner)
  return [encodeText(id), encodeText(name), kind, ownedBy, seen, trouble ?? null, JSON.stringify(rest)] as const
}

export interface EntryRow {
  readonly owner: string | null
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  /** What has no column, as JSON. */
  readonly entry: string
}

/** A page and how many there are, each by a statement of its own; they go out together. */
export function createFindEntries(db: Database): (query: EntryQuery) => Promise<EntryPage> {
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

/** By which terms entries are found, and how many have each. */
export interface TermIndex {
  /** `before` is the entry as it is stored, if it is. */
  replace(ask: Ask, before: RegistryEntry | undefined, entry: RegistryEntry, terms: readonly string[]): Promise<void>
  remove(ask: Ask, kind: EntryKind, ids: readonly string[]): Promise<void>
}

export function createTermIndex(db: Pick<Database, 'name'>): TermIndex {
  const [terms, counts] = [db.name('registry_terms'), db.name('registry_term_counts')]

  /** Ids as they are stored. */
  async function remove(ask: Ask, kind: EntryKind, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const left = await ask<{ readonly term: string; readonly total: number }>(
      `WITH gone AS (DELETE FROM ${terms} WHERE id = ANY (string_to_array($1, E'\\n')) RETURNING term),
       counted AS (SELECT term, count(*) AS total FROM gone GROUP BY term)
       UPDATE ${counts} c SET total = c.total - counted.total FROM counted
       WHERE c.term = counted.term AND c.kind = $2 RETURNING c.term, c.total::float8`,
      ids.join('\n'),
      kind,
    )
    const unused = left.filter(({ total }) => total <= 0).map(({ term }) => term)
    if (unused.length === 0) return
    await ask(
      `DELETE FROM ${counts} WHERE term = ANY (string_to_array($1, E'\\n')) AND kind = $2`,
      unused.join('\n'),
      kind,
    )
  }

  async function isSame(ask: Ask, id: string, wanted: readonly string[]): Promise<boolean> {
    const rows = await ask<{ readonly term: string }>(`SELECT term FROM ${terms} WHERE id = $1`, id)
    const known = new Set(rows.map(({ term }) => term))
    return known.size === wanted.length && wanted.every((term) => known.has(encodeText(term)))
  }

  return {
    remove,
    async replace(ask, before, entry, given) {
      const [id, name] = [encodeText(entry.id), encodeText(entry.name)]
      const wanted = [...new Set(given)]
      if (before) {
        const isNamedSo = before.name === entry.name && before.kind === entry.kind
        if (isNamedSo && (await isSame(ask, id, wanted))) return
        await remove(ask, before.kind, [id])
      }
      if (wanted.length === 0) return
      await ask(
        `WITH put AS (
           INSERT INTO ${terms} (term, name, id) SELECT term, $2, $3 FROM unnest(string_to_array($1, E'\\n')) AS term
           RETURNING term)
         INSERT INTO ${counts} AS c (term, kind, total) SELECT term, $4, 1 FROM put
         ON CONFLICT (term, kind) DO UPDATE SET total = c.total + 1`,
        lines(wanted),
        name,
        id,
        entry.kind,
      )
    },
  }
}

export function entryOf({ owner, seen, trouble, entry }: EntryRow): RegistryEntry {
  const ownedBy = owner === null ? undefined : { owner: decodeText(owner) }
  return { ...JSON.parse(entry), ...ownedBy, seen, ...(trouble && { trouble }) }
}

function encoded({ terms, prefixes, after, ...query }: EntryQuery): EntryQuery {
  return {
    ...query,
    ...(terms && { terms: terms.map(encodeText) }),
    ...(prefixes && { prefixes: prefixes.map(encodeText) }),
    ...(after && { after: { name: encodeText(after.name), id: encodeText(after.id) } }),
  }
}
