import type { EntryKind } from '../registry/entry.ts'
import type { EntryQuery } from '../registry/entry-store.ts'

/** The tables as a database calls them, and how it writes the place of a value. */
export interface EntryTables {
  readonly agents: string
  readonly terms: string
  /** With a column for each kind: how many there are. */
  readonly state: string
  readonly place: (index: number) => string
  /** Such that what leads is read first. */
  readonly join: string
  /** Before a column by which a page shall not be looked up, since it would have to be sorted then. */
  readonly unindexed: string
}

export interface EntryStatement {
  readonly text: string
  readonly values: readonly (string | number)[]
}

export interface EntryStatements {
  readonly page: EntryStatement
  /** Of all of a kind, or of both, the store knows how many there are without counting them. */
  readonly count: EntryStatement | { readonly known: EntryKind | 'all' } | 'none'
}

const columns = 'e.id, e.name, e.kind, e.owner, e.seen, e.trouble, e.entry'

/**
 * What is asked of SQLite and PostgreSQL for a query. It is led by the first term, which should be the rarest: its part of the index is sorted by
 * name already, so a page costs what is on it, and a count what it counts.
 */
export function entryStatements(query: EntryQuery, tables: EntryTables): EntryStatements {
  return { page: pageOf(query, tables), count: countOf(query, tables) }
}

function pageOf(query: EntryQuery, tables: EntryTables): EntryStatement {
  const { values, value } = collector(tables)
  const { from, conditions, name, id } = sourceOf(query, tables, value, true, tables.unindexed)
  const { after, order = 'name', limit } = query
  if (after) conditions.push(`(${name}, ${id}) > (${value(after.name)}, ${value(after.id)})`)
  const sorted = order === 'best' ? `(e.trouble IS NOT NULL), e.rank, e.name, e.id` : `${name}, ${id}`
  return {
    text: `SELECT ${columns} ${from} WHERE ${where(conditions)} ORDER BY ${sorted} LIMIT ${value(limit)}`,
    values,
  }
}

function countOf(query: EntryQuery, tables: EntryTables): EntryStatements['count'] {
  if (query.uncounted) return 'none'
  const { kind, health, terms = [], prefixes = [] } = query
  const isNarrowed = kind !== undefined || health !== undefined
  const { values, value } = collector(tables)
  if (terms.length + prefixes.length === 0) {
    if (!health) return { known: kind ?? 'all' }
    return { text: `SELECT ${countByHealth(kind ? [kind] : kinds, health, tables, value)} AS total`, values }
  }
  const { from, conditions } = sourceOf(query, tables, value, isNarrowed)
  return { text: `SELECT count(*) AS total ${from} WHERE ${where(conditions)}`, values }
}

type Value = (value: string | number) => string

/** Most are healthy, so the others are counted, each kind by its own part of an index. */
function countByHealth(
  counted: readonly EntryKind[],
  { isHealthy, since }: NonNullable<EntryQuery['health']>,
  { agents, state }: EntryTables,
  value: Value,
): string {
  const unhealthy = counted.flatMap((kind) => [
    `e.kind = ${value(kind)} AND e.trouble IS NOT NULL`,
    ...(kind === 'mesh' ? [`e.kind = ${value(kind)} AND e.trouble IS NULL AND e.seen < ${value(since)}`] : []),
  ])
  const counts = unhealthy.map((condition) => `(SELECT count(*) FROM ${agents} e WHERE ${condition})`).join(' + ')
  return isHealthy ? `(SELECT ${counted.join(' + ')} FROM ${state}) - (${counts})` : counts
}

/** The rows that are meant, with those of the agents beside them where they are needed. */
function sourceOf(
  query: EntryQuery,
  { agents, terms, join }: EntryTables,
  value: Value,
  withAgents: boolean,
  unindexed = '',
) {
  const { kind, health } = query
  const [first, ...others] = query.terms ?? []
  const prefixes = [...(query.prefixes ?? [])]
  const conditions: string[] = []
  const beside = withAgents ? `${join} ${agents} e ON e.id = t.id` : ''
  let [from, name, id] = [`FROM ${agents} e`, 'e.name', 'e.id']
  if (first !== undefined) {
    from = `FROM ${terms} t ${beside}`
    conditions.push(`t.term = ${value(first)}`)
    name = 't.name'
    id = 't.id'
  } else if (prefixes.length > 0) {
    const [prefix = ''] = prefixes.splice(0, 1)
    from = `FROM (SELECT DISTINCT p.name, p.id FROM ${terms} p WHERE ${within('p', prefix, value)}) t ${beside}`
    name = 't.name'
    id = 't.id'
  }
  // By its limit PostgreSQL asks it of each row that is left, and does not look for all who have the term.
  const having = (condition: string) => `EXISTS (SELECT 1 FROM ${terms} o WHERE ${condition} LIMIT 1 OFFSET 0)`
  for (const term of others) {
    conditions.push(having(`o.term = ${value(term)} AND o.name = ${name} AND o.id = ${id}`))
  }
  for (const prefix of prefixes) conditions.push(having(`o.id = ${id} AND ${within('o', prefix, value)}`))
  if (kind !== undefined) conditions.push(...ofKind(kind, health, value, unindexed))
  else if (health)
    conditions.push(`(${kinds.map((each) => where(ofKind(each, health, value, unindexed))).join(' OR ')})`)
  return { from, conditions, name, id }
}

const kinds: readonly EntryKind[] = ['mesh', 'a2a']

/** A peer of the mesh has to have been heard of; an agent of A2A is looked at by the registry itself. */
function ofKind(kind: EntryKind, health: EntryQuery['health'], value: Value, unindexed = ''): readonly string[] {
  const isOfKind = `e.kind = ${value(kind)}`
  if (!health) return [isOfKind]
  const since = kind === 'mesh' ? `${unindexed}e.seen >= ${value(health.since)}` : '1 = 1'
  const isHealthy = `${unindexed}e.trouble IS NULL AND ${since}`
  return [isOfKind, health.isHealthy ? isHealthy : `NOT (${isHealthy})`]
}

/** No text is sorted behind the last code point. */
function within(table: string, prefix: string, value: Value): string {
  return `${table}.term >= ${value(prefix)} AND ${table}.term < ${value(`${prefix}\u{10ffff}`)}`
}

function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? conditions.join(' AND ') : '1 = 1'
}

function collector({ place }: EntryTables) {
  const values: (string | number)[] = []
  const value: Value = (given) => place(values.push(given))
  return { values, value }
}
