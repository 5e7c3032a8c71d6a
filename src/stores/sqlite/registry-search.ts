import { BoundedMap } from '../../core/base/bounded-map.ts'
import { defined } from '../../core/base/json.ts'
import type { EntryKind, EntryPage, EntryQuery, RegistryEntry } from '../../registry/entry.ts'
import {
  commonSize,
  countStatements,
  createCountCache,
  type EntrySizes,
  type EntryStatement,
  type EntryTables,
  healthSizeStatement,
  needsHealthSize,
  pageStatement,
  planQuery,
  type QueryPlan,
} from '../shared/registry-query.ts'
import type { SqliteDatabase, SqliteStatement } from './connection.ts'

/** Number of prepared search statements to cache. */
const maxPrepared = 100

export const entryColumns = 'id, name, kind, owner, seen, trouble, entry'

/** The values of an entry in the order of `entryColumns`. */
export function encodeEntry(entry: RegistryEntry) {
  const { owner = null, seen, trouble = null, ...rest } = entry
  const { id, name, kind } = rest
  return [id, name, kind, owner, seen, trouble, JSON.stringify(rest)] as const
}

export interface EntryRow {
  readonly owner: string | null
  readonly seen: number
  readonly trouble: RegistryEntry['trouble'] | null
  /** The part of the entry that has no column, as JSON. */
  readonly entry: string
}

export function decodeEntry({ owner, seen, trouble, entry }: EntryRow): RegistryEntry {
  return { ...JSON.parse(entry), seen, ...defined({ owner: owner ?? undefined, trouble: trouble || undefined }) }
}

/** The number of the last change, and the number of entries. */
export type RegistryState = Readonly<Record<'number' | EntryKind | 'all', number>>

/** Finds a page of entries and their total number. */
export function createFindEntries(
  db: SqliteDatabase,
  termIndex: Pick<TermIndex, 'sizesOf'>,
  readState: () => RegistryState,
): (query: EntryQuery) => EntryPage {
  const counts = createCountCache()
  const prepared = new BoundedMap<string, SqliteStatement>(maxPrepared)

  function prepare(text: string): SqliteStatement {
    const statement = prepared.get(text) ?? db.prepare(text)
    prepared.set(text, statement)
    return statement
  }

  /** The number of matching entries; 0 if the query needs none. */
  function totalOf(plan: QueryPlan): number {
    const count = countStatements(plan, tables)
    if (!count) return 0
    const { all, isStable, without } = count
    const excluded = without ? runCount(without) : 0
    if ('exact' in all) return all.exact - excluded
    if ('kind' in all) return readState()[all.kind] - excluded
    return (isStable ? cachedCount(all) : runCount(all)) - excluded
  }

  function runCount({ text, values }: EntryStatement): number {
    return (prepare(text).get(...values) as { readonly total: number }).total
  }

  function cachedCount(statement: EntryStatement): number {
    const { number } = readState()
    const key = JSON.stringify(statement)
    const cached = counts.get(key, number)
    if (cached !== undefined) return cached
    const total = runCount(statement)
    counts.set(key, number, total)
    return total
  }

  return (query) => {
    const sizes = termIndex.sizesOf(query)
    const health = needsHealthSize(query, sizes) ? runCount(healthSizeStatement(query, tables)) : undefined
    const plan = planQuery(query, sizes, health)
    const page = pageStatement(plan, tables)
    const rows = prepare(page.text).all(...page.values) as EntryRow[]
    return { entries: rows.map(decodeEntry), total: totalOf(plan) }
  }
}

/** The search terms of entries and the number of entries per term. Written in a transaction. */
export interface TermIndex {
  /** `before` is the stored entry, if there is one. */
  replace(before: RegistryEntry | undefined, entry: RegistryEntry, terms: readonly string[]): void
  remove(id: string, kind: EntryKind): void
  sizesOf(query: EntryQuery): EntrySizes
}

export function createTermIndex(db: SqliteDatabase): TermIndex {
  const select = db.prepare('SELECT term FROM registry_terms WHERE id = ?')
  const insert = db.prepare('INSERT OR IGNORE INTO registry_terms (term, name, id) VALUES (?, ?, ?)')
  const deleteTerms = db.prepare('DELETE FROM registry_terms WHERE id = ?')
  const increment = db.prepare(`
    INSERT INTO registry_term_counts (term, kind, total) VALUES (?, ?, 1)
    ON CONFLICT (term, kind) DO UPDATE SET total = total + 1`)
  const decrement = db.prepare(
    'UPDATE registry_term_counts SET total = total - 1 WHERE term = ? AND kind = ? RETURNING total',
  )
  const deleteCount = db.prepare('DELETE FROM registry_term_counts WHERE term = ? AND kind = ?')
  const countTerm = db.prepare('SELECT sum(total) AS total FROM registry_term_counts WHERE term = ? AND kind IN (?, ?)')
  const countPrefix = db.prepare(`
    SELECT sum(total) AS total FROM (
      SELECT total FROM registry_term_counts WHERE term >= ? AND term < ? AND kind IN (?, ?) LIMIT ${commonSize})`)

  const termsOf = (id: string) => (select.all(id) as { readonly term: string }[]).map(({ term }) => term)

  function remove(id: string, kind: EntryKind): void {
    for (const term of termsOf(id)) {
      const { total } = decrement.get(term, kind) as { readonly total: number }
      if (total === 0) deleteCount.run(term, kind)
    }
    deleteTerms.run(id)
  }

  return {
    replace(before, { id, name, kind }, terms) {
      const newTerms = new Set(terms)
      if (before) {
        const oldTerms = termsOf(id)
        const isSame = before.name === name && before.kind === kind && oldTerms.length === newTerms.size
        if (isSame && oldTerms.every((term) => newTerms.has(term))) return
        remove(id, before.kind)
      }
      for (const term of newTerms) {
        insert.run(term, name, id)
        increment.run(term, kind)
      }
    },
    remove,
    sizesOf({ terms = [], prefixes = [], kind }) {
      const kinds = [kind ?? 'mesh', kind ?? 'a2a'] as const
      return {
        terms: terms.map((term) => (countTerm.get(term, ...kinds) as SizeRow).total ?? 0),
        prefixes: prefixes.map(
          (prefix) => (countPrefix.get(prefix, `${prefix}\u{10ffff}`, ...kinds) as SizeRow).total ?? 0,
        ),
      }
    },
  }
}

interface SizeRow {
  readonly total: number | null
}

const tables: EntryTables = {
  agents: 'registry_agents',
  byHealth: 'registry_agents e INDEXED BY registry_by_health',
  terms: 'registry_terms',
  state: 'registry_state',
  placeholder: () => '?',
  join: 'CROSS JOIN',
  unindexed: '+',
  materialized: 'MATERIALIZED',
  isFailing: '(e.trouble IS NOT NULL)',
  seek: 'row',
}
