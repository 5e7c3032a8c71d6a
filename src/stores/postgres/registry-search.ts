import { defined } from '../../core/base/json.ts'
import type { EntryKind, EntryPage, EntryQuery, RegistryEntry } from '../../registry/entry.ts'
import type { Database, RunQuery } from '../shared/database.ts'
import { numbered } from '../shared/heads.ts'
import {
  commonSize,
  countStatements,
  createCountCache,
  type EntrySizes,
  healthSizeStatement,
  needsHealthSize,
  pageStatement,
  planQuery,
  type QueryPlan,
} from '../shared/registry-query.ts'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import type { Statement } from '../shared/statement.ts'
import { lines, linesSql } from './sql-text.ts'

/** Offset that sorts the sizes of prefixes after those of terms. */
const prefixOffset = 1_000_000

export const entryColumns = 'id, name, kind, owner, seen, trouble, entry'

/** The values of the columns of an entry. */
export function encodeEntry({ owner, seen, trouble, ...rest }: RegistryEntry) {
  return {
    id: encodeText(rest.id),
    name: encodeText(rest.name),
    kind: rest.kind,
    owner: owner === undefined ? null : encodeText(owner),
    seen,
    trouble: trouble ?? null,
    entry: JSON.stringify(rest),
  }
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
    placeholder: numbered,
    join: 'JOIN',
    unindexed: '',
  }
  const counts = db.name('registry_term_counts')
  const state = db.prepare<{ readonly number: number }>(() => `SELECT number::float8 FROM ${tables.state}`)
  const cache = createCountCache()
  const countColumns = { all: 'mesh + a2a', mesh: 'mesh', a2a: 'a2a' }

  const selectSizes = db.prepare<
    { readonly place: number; readonly size: number },
    { readonly terms: string; readonly prefixes: string; readonly mesh: string; readonly a2a: string }
  >(
    ({ terms, prefixes, mesh, a2a }) => `
    SELECT place::float8, coalesce((
      SELECT sum(total) FROM ${counts} c WHERE c.term = wanted.term AND c.kind IN (${mesh}, ${a2a})), 0)::float8 AS size
    FROM unnest(${linesSql(terms)}) WITH ORDINALITY AS wanted (term, place)
    UNION ALL
    SELECT place::float8 + ${prefixOffset}, coalesce((SELECT sum(total) FROM (
      SELECT total FROM ${counts} c
      WHERE c.term >= wanted.term AND c.term < wanted.term || chr(1114111) AND c.kind IN (${mesh}, ${a2a})
      LIMIT ${commonSize}) AS few
    ), 0)::float8
    FROM unnest(${linesSql(prefixes)}) WITH ORDINALITY AS wanted (term, place)`,
  )

  async function sizesOf({ terms = [], prefixes = [], kind }: EntryQuery): Promise<EntrySizes> {
    if (terms.length + prefixes.length === 0) return { terms: [], prefixes: [] }
    const rows = await selectSizes({
      terms: terms.join('\n'),
      prefixes: prefixes.join('\n'),
      mesh: kind ?? 'mesh',
      a2a: kind ?? 'a2a',
    })
    const all = rows.toSorted((one, other) => one.place - other.place).map(({ size }) => size)
    return { terms: all.slice(0, terms.length), prefixes: all.slice(terms.length) }
  }

  const runCount = async (statement: Statement) => Number((await db.run<{ total: string }>(statement))[0]?.total ?? 0)

  async function cachedCount(statement: Statement): Promise<number> {
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
    const [rows, total] = await Promise.all([db.run<EntryRow>(pageStatement(plan, tables)), totalOf(plan)])
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
    const counted = await query<
      { readonly term: string; readonly total: number },
      { readonly ids: string; readonly kind: EntryKind }
    >(
      (value) => `
       WITH gone AS (DELETE FROM ${terms} WHERE id = ANY (${linesSql(value.ids)}) RETURNING term),
       counted AS (SELECT term, count(*) AS total FROM gone GROUP BY term)
       UPDATE ${counts} c SET total = c.total - counted.total FROM counted
       WHERE c.term = counted.term AND c.kind = ${value.kind} RETURNING c.term, c.total::float8`,
      { ids: ids.join('\n'), kind },
    )
    const unused = counted.filter(({ total }) => total <= 0).map(({ term }) => term)
    if (unused.length === 0) return
    await query<unknown, { readonly unused: string; readonly kind: EntryKind }>(
      (value) => `DELETE FROM ${counts} WHERE term = ANY (${linesSql(value.unused)}) AND kind = ${value.kind}`,
      { unused: unused.join('\n'), kind },
    )
  }

  async function hasTerms(query: RunQuery, id: string, newTerms: readonly string[]): Promise<boolean> {
    const rows = await query<{ readonly term: string }, { readonly id: string }>(
      (value) => `SELECT term FROM ${terms} WHERE id = ${value.id}`,
      { id },
    )
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
      await query<
        unknown,
        { readonly terms: string; readonly name: string; readonly id: string; readonly kind: EntryKind }
      >(
        (value) => `
         WITH put AS (
           INSERT INTO ${terms} (term, name, id)
           SELECT term, ${value.name}, ${value.id} FROM unnest(${linesSql(value.terms)}) AS term
           RETURNING term)
         INSERT INTO ${counts} AS c (term, kind, total) SELECT term, ${value.kind}, 1 FROM put
         ON CONFLICT (term, kind) DO UPDATE SET total = c.total + 1`,
        { terms: lines(newTerms), name, id, kind: entry.kind },
      )
    },
  }
}

export function decodeEntry({ owner, seen, trouble, entry }: EntryRow): RegistryEntry {
  const ownedBy = owner === null ? undefined : { owner: decodeText(owner) }
  return { ...JSON.parse(entry), ...ownedBy, seen, ...defined({ trouble: trouble || undefined }) }
}

function encodeQuery({ terms, prefixes, after, ...query }: EntryQuery): EntryQuery {
  return {
    ...query,
    ...defined({
      terms: terms?.map(encodeText),
      prefixes: prefixes?.map(encodeText),
      after: after && { name: encodeText(after.name), id: encodeText(after.id) },
    }),
  }
}
