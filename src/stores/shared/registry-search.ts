import { defined } from '../../core/base/json.ts'
import type { EntryKind, EntryPage, EntryQuery, RegistryEntry } from '../../registry/entry.ts'
import type { Database } from './database.ts'
import {
  countStatements,
  createCountCache,
  type EntrySizes,
  type EntryTables,
  healthSizeStatement,
  needsHealthSize,
  pageStatement,
  planQuery,
  type QueryPlan,
} from './registry-query.ts'
import type { SqlSyntax } from './sql-syntax.ts'
import { decodeText } from './sql-text.ts'
import type { Statement } from './statement.ts'

export const entryColumns = 'id, name, kind, owner, seen, trouble, entry'

/** The values of the columns of an entry. */
export function encodeEntry({ encodeId, encodeKey }: SqlSyntax, { owner, seen, trouble, ...rest }: RegistryEntry) {
  return {
    id: encodeId(rest.id),
    name: encodeKey(rest.name),
    kind: rest.kind,
    owner: owner === undefined ? null : encodeId(owner),
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

export function decodeEntry({ owner, seen, trouble, entry }: EntryRow): RegistryEntry {
  const ownedBy = owner === null ? undefined : { owner: decodeText(owner) }
  return { ...JSON.parse(entry), ...ownedBy, seen, ...defined({ trouble: trouble || undefined }) }
}

export interface EntryKinds {
  readonly mesh: EntryKind
  readonly a2a: EntryKind
}

/** How an engine searches entries. */
export interface EntrySearch {
  readonly db: Database
  readonly tables: EntryTables
  /** The number of entries with each term, and with a term that begins with each prefix. */
  sizesOf(terms: readonly string[], prefixes: readonly string[], kinds: EntryKinds): Promise<EntrySizes>
}

/** Finds a page of entries and their total number, by two concurrent statements. */
export function createFindEntries({ db, tables, sizesOf }: EntrySearch): (query: EntryQuery) => Promise<EntryPage> {
  const state = db.prepare<{ readonly number: number | string }>(() => `SELECT number FROM ${tables.state}`)
  const cache = createCountCache()
  const countColumns = { all: 'mesh + a2a', mesh: 'mesh', a2a: 'a2a' }

  const runCount = async (statement: Statement) =>
    Number((await db.run<{ readonly total: number | string }>(statement))[0]?.total ?? 0)

  async function cachedCount(statement: Statement): Promise<number> {
    const number = Number((await state())[0]?.number ?? 0)
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
    const query = encodeQuery(db.syntax, entryQuery)
    const { terms = [], prefixes = [], kind } = query
    const kinds = { mesh: kind ?? 'mesh', a2a: kind ?? 'a2a' } as const
    const sizes =
      terms.length + prefixes.length === 0 ? { terms: [], prefixes: [] } : await sizesOf(terms, prefixes, kinds)
    const health = needsHealthSize(query, sizes) ? await runCount(healthSizeStatement(query, tables)) : undefined
    const plan = planQuery(query, sizes, health)
    const [rows, total] = await Promise.all([db.run<EntryRow>(pageStatement(plan, tables)), totalOf(plan)])
    return { entries: rows.map(decodeEntry), total }
  }
}

function encodeQuery({ encodeId, encodeKey }: SqlSyntax, { terms, prefixes, after, ...query }: EntryQuery): EntryQuery {
  return {
    ...query,
    ...defined({
      terms: terms?.map(encodeKey),
      prefixes: prefixes?.map(encodeKey),
      after: after && { name: encodeKey(after.name), id: encodeId(after.id) },
    }),
  }
}
