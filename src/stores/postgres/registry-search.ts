import { BoundedMap } from '../../core/base/bounded-map.ts'
import type { EntryKind, EntryPage, EntryQuery, RegistryEntry } from '../../registry/entry.ts'
import {
  commonSize,
  countStatements,
  createCountCache,
  type EntrySizes,
  type EntryStatement,
  healthSizeStatement,
  needsHealthSize,
  pageStatement,
  planQuery,
  type QueryPlan,
} from '../shared/registry-query.ts'
import type { Database, Query, RunQuery } from './connection.ts'
import { decodeText, encodeText, lines } from './sql-text.ts'

/** Offset that sorts the sizes of prefixes after those of terms. */
const prefixOffset = 1_000_000

/** Number of prepared search statements to cache. */
const maxPrepared = 100

export const entryColumns = 'id, name, kind, owner, seen, trouble, entry'

/** The values of an entry in the order of `entryColumns`. */
export function encodeEntry(entry: RegistryEntry) {
  const { owner, seen, trouble, ...rest } = entry
  const { id, name, kind } = rest
  const ownedBy = owner === undefined ? null : encodeText(owner)
  return [encodeText(id), encodeText(name), kind, ownedBy, seen, trouble ?? null, JSON.stringify(rest)] as const
}

export interface EntryRow {
  readonly owner: string | null
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  /** The part of the entry that has no column, as JSON. */
  readonly entry: string
}

/** Finds a page of entries and their total number, by two concurrent statements. */
export function createFindEntries(db: Database): (query: EntryQuery) => Promise<EntryPage> {
  const tables = {
    agents: db.name('registry_agents'),
    byHealth: `${db.name('registry_agents')} e`,
    terms: db.name('registry_terms'),
    state: db.name('registry_state'),
    placeholder: (index: number) => `$${index}`,
    join: 'JOIN',
    unindexed: '',
  }
  const counts = db.name('registry_term_counts')
  const state = db.prepare<{ readonly number: number }>(`SELECT number::float8 FROM ${tables.state}`)
  const cache = createCountCache()
  const countColumns = { all: 'mesh + a2a', mesh: 'mesh', a2a: 'a2a' }
  const prepared = new BoundedMap<string, Query<unknown>>(maxPrepared)

  function run<Row>({ text, values }: EntryStatement): Promise<readonly Row[]> {
    const query = prepared.get(text) ?? db.prepare<unknown>(text)
    prepared.set(text, query)
    return query(...values) as Promise<readonly Row[]>
  }

  const selectSizes = db.prepare<{ readonly place: number; readonly size: number }>(`
    SELECT place::float8, coalesce((SELECT sum(total) FROM ${counts} c WHERE c.term = wanted.term AND c.kind IN ($3, $4)), 0)::float8 AS size
    FROM unnest(string_to_array($1, E'\\n')) WITH ORDINALITY AS wanted (term, place)
    UNION ALL
    SELECT place::float8 + ${prefixOffset}, coalesce((SELECT sum(total) FROM (
      SELECT total FROM ${counts} c
      WHERE c.term >= wanted.term AND c.term < wanted.term || chr(1114111) AND c.kind IN ($3, $4) LIMIT ${commonSize}) AS few
    ), 0)::float8
    FROM unnest(string_to_array($2, E'\\n')) WITH ORDINALITY AS wanted (term, place)`)

  async function sizesOf({ terms = [], prefixes = [], kind }: EntryQuery): Promise<EntrySizes> {
    if (terms.length + prefixes.length === 0) return { terms: [], prefixes: [] }
    const rows = await selectSizes(terms.join('\n'), prefixes.join('\n'), kind ?? 'mesh', kind ?? 'a2a')
    const all = rows.toSorted((one, other) => one.place - other.place).map(({ size }) => size)
    return { terms: all.slice(0, terms.length), prefixes: all.slice(terms.length) }
  }

  const runCount = async (statement: EntryStatement) => Number((await run<{ total: string }>(statement))[0]?.total ?? 0)

  async function cachedCount(statement: EntryStatement): Promise<number> {
    const { number = 0 } = (await state())[0] ?? {}
    const key = JSON.stringify(statement)
    const cached = cache.get(key, number)
    if (cached !== undefined) return cached
    const total = await runCount(statement)
    cache.set(key, number, total)
    return total
  }

  async function totalOf(plan: QueryPlan): Promise<number> {
    const count = countStatements(plan, tables)
    if (!count) return 0
    const { all, isStable, without } = count
    const [total, excluded] = await Promise.all([
      'exact' in all
        ? all.exact
        : 'kind' in all
          ? runCount({ text: `SELECT ${countColumns[all.kind]} AS total FROM ${tables.state}`, values: [] })
          : isStable
            ? cachedCount(all)
            : runCount(all),
      without ? runCount(without) : 0,
    ])
    return total - excluded
  }

  return async (entryQuery) => {
    const query = encodeQuery(entryQuery)
    const querySizes = await sizesOf(query)
    const health = needsHealthSize(query, querySizes) ? await runCount(healthSizeStatement(query, tables)) : undefined
    const plan = planQuery(query, querySizes, health)
    const [rows, total] = await Promise.all([run<EntryRow>(pageStatement(plan, tables)), totalOf(plan)])
    return { entries: rows.map(decodeEntry), total }
  }
}

/** The search terms of entries and the number of entries per term. */
export interface PostgresTermIndex {
  /** `before` is the stored entry, if there is one. */
  replace(
    query: RunQuery,
    before: RegistryEntry | undefined,
    entry: RegistryEntry,
    terms: readonly string[],
  ): Promise<void>
  remove(query: RunQuery, kind: EntryKind, ids: readonly string[]): Promise<void>
}

export function createTermIndex(db: Pick<Database, 'name'>): PostgresTermIndex {
  const [terms, counts] = [db.name('registry_terms'), db.name('registry_term_counts')]

  /** The ids are encoded, as stored. */
  async function remove(query: RunQuery, kind: EntryKind, ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    const counted = await query<{ readonly term: string; readonly total: number }>(
      `WITH gone AS (DELETE FROM ${terms} WHERE id = ANY (string_to_array($1, E'\\n')) RETURNING term),
       counted AS (SELECT term, count(*) AS total FROM gone GROUP BY term)
       UPDATE ${counts} c SET total = c.total - counted.total FROM counted
       WHERE c.term = counted.term AND c.kind = $2 RETURNING c.term, c.total::float8`,
      ids.join('\n'),
      kind,
    )
    const unused = counted.filter(({ total }) => total <= 0).map(({ term }) => term)
    if (unused.length === 0) return
    await query(
      `DELETE FROM ${counts} WHERE term = ANY (string_to_array($1, E'\\n')) AND kind = $2`,
      unused.join('\n'),
      kind,
    )
  }

  async function hasTerms(query: RunQuery, id: string, newTerms: readonly string[]): Promise<boolean> {
    const rows = await query<{ readonly term: string }>(`SELECT term FROM ${terms} WHERE id = $1`, id)
    const oldTerms = new Set(rows.map(({ term }) => term))
    return oldTerms.size === newTerms.length && newTerms.every((term) => oldTerms.has(encodeText(term)))
  }

  return {
    remove,
    async replace(query, before, entry, entryTerms) {
      const [id, name] = [encodeText(entry.id), encodeText(entry.name)]
      const newTerms = [...new Set(entryTerms)]
      if (before) {
        const isSame = before.name === entry.name && before.kind === entry.kind
        if (isSame && (await hasTerms(query, id, newTerms))) return
        await remove(query, before.kind, [id])
      }
      if (newTerms.length === 0) return
      await query(
        `WITH put AS (
           INSERT INTO ${terms} (term, name, id) SELECT term, $2, $3 FROM unnest(string_to_array($1, E'\\n')) AS term
           RETURNING term)
         INSERT INTO ${counts} AS c (term, kind, total) SELECT term, $4, 1 FROM put
         ON CONFLICT (term, kind) DO UPDATE SET total = c.total + 1`,
        lines(newTerms),
        name,
        id,
        entry.kind,
      )
    },
  }
}

export function decodeEntry({ owner, seen, trouble, entry }: EntryRow): RegistryEntry {
  const ownedBy = owner === null ? undefined : { owner: decodeText(owner) }
  return { ...JSON.parse(entry), ...ownedBy, seen, ...(trouble && { trouble }) }
}

function encodeQuery({ terms, prefixes, after, ...query }: EntryQuery): EntryQuery {
  return {
    ...query,
    ...(terms && { terms: terms.map(encodeText) }),
    ...(prefixes && { prefixes: prefixes.map(encodeText) }),
    ...(after && { after: { name: encodeText(after.name), id: encodeText(after.id) } }),
  }
}
