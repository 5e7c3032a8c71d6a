import { defined } from '../../core/base/json.ts'
import type { EntryKind, EntryQuery } from '../../registry/entry.ts'
import { type AddValue, createValues, type Statement } from './statement.ts'

const columns = 'e.id, e.name, e.kind, e.owner, e.seen, e.trouble, e.entry'

const kinds: readonly EntryKind[] = ['mesh', 'a2a']

/** Number of counts to cache. */
const maxCounts = 100

/** The number of entries that match each condition; exact only below `commonSize`. */
export interface EntrySizes {
  readonly terms: readonly number[]
  readonly prefixes: readonly number[]
}

/** Whether the plan depends on the number of entries with the requested health. */
export function needsHealthSize({ health }: EntryQuery, { terms, prefixes }: EntrySizes): boolean {
  return health !== undefined && Math.min(commonSize, ...terms, ...prefixes) === commonSize
}

/** How the first rows are found. All other conditions are checked for each of these rows. */
export type AccessPath =
  | { readonly type: 'term' | 'prefix'; readonly text: string }
  /** Entries with the requested health. */
  | { readonly type: 'health' }
  /** All entries, in the requested order. */
  | { readonly type: 'order' }

export interface QueryPlan {
  readonly query: EntryQuery
  readonly access: AccessPath
  /** Whether the access path yields few rows. */
  readonly isRare: boolean
  /** The number of entries, if a single term is the only condition. */
  readonly exact?: number
}

/** Starts with the rarest condition. A common term is suitable as well, because its entries are sorted by name. */
export function planQuery(query: EntryQuery, sizes: EntrySizes, health = commonSize): QueryPlan {
  const { terms = [], prefixes = [], order = 'name' } = query
  const conditions = [
    ...terms.map((text, at) => ({ type: 'term', text, size: sizes.terms[at] ?? 0 }) as const),
    ...prefixes.map((text, at) => ({ type: 'prefix', text, size: sizes.prefixes[at] ?? 0 }) as const),
  ].sort((one, other) => one.size - other.size)
  const [rarest] = conditions
  const isOnly = conditions.length === 1 && rarest?.type === 'term'
  const sorted = {
    ...query,
    terms: conditions.filter(({ type }) => type === 'term').map(({ text }) => text),
    prefixes: conditions.filter(({ type }) => type === 'prefix').map(({ text }) => text),
  }
  const plan = defined({ query: sorted, isRare: false, exact: isOnly ? rarest.size : undefined })
  if (rarest && rarest.size < commonSize) return { ...plan, isRare: true, access: rarest }
  if (health < commonSize) return { ...plan, access: { type: 'health' } }
  const [term] = sorted.terms
  if (term !== undefined && order === 'name') return { ...plan, access: { type: 'term', text: term } }
  return { ...plan, access: { type: 'order' } }
}

/** The tables and the syntax of a database. */
export interface EntryTables {
  readonly agents: string
  /** The agents, accessed by the index on kind, trouble and `seen`. */
  readonly byHealth: string
  readonly terms: string
  /** The table with the number of agents of each kind. */
  readonly state: string
  readonly placeholder: (index: number) => string
  /** A join that reads the table of the access path first. */
  readonly join: string
  /** Prefix of a column whose index must not be used, because the page would have to be sorted then. */
  readonly unindexed: string
  /** The word by which a common table expression is computed once, where that needs one. */
  readonly materialized: string
  /** Whether an entry has a trouble, as the index of the best entries has it. */
  readonly isFailing: string
  /** Whether the database finds the place in an index by comparing rows, or only by comparing their first column. */
  readonly seek: 'row' | 'column'
}

export type EntryStatement = Statement<string | number>

type AddEntryValue = AddValue<string | number>

/** Selects one page. Its cost depends on the size of the page, not on the number of entries. */
export function pageStatement({ query, access }: QueryPlan, tables: EntryTables): EntryStatement {
  const { values, add: value } = createValues<string | number>(tables.placeholder)
  const { before, from, conditions, name, id } = sourceOf(query, access, tables, value, tables.unindexed)
  const { after, order = 'name', limit } = query
  if (after && tables.seek === 'column') conditions.push(`${name} >= ${value(after.name)}`)
  if (after) conditions.push(`(${name}, ${id}) > (${value(after.name)}, ${value(after.id)})`)
  const sorted = order === 'best' ? `${tables.isFailing}, e.rank, e.name, e.id` : `${name}, ${id}`
  return {
    text: `${before}SELECT ${columns} ${from} WHERE ${allOf(conditions)} ORDER BY ${sorted} LIMIT ${value(limit)}`,
    values,
  }
}

/** How to count the matching entries: all of them, minus some. */
export interface CountPlan {
  readonly all: EntryStatement | { readonly kind: EntryKind | 'all' } | { readonly exact: number }
  /** Whether the count stays the same until an entry changes. */
  readonly isStable?: boolean
  /** Counts the entries to subtract. */
  readonly without?: EntryStatement
}

/** Most entries are healthy, so for common conditions the unhealthy ones are counted and subtracted. */
export function countStatements(
  { query, access, isRare, exact }: QueryPlan,
  tables: EntryTables,
): CountPlan | undefined {
  if (query.uncounted) return undefined
  const { kind, health, terms = [], prefixes = [] } = query
  if (health && isRare) return { all: countAll(query, access, tables) }
  const unhealthy = health && countUnhealthy(query, health.since, tables)
  if (unhealthy && !health.isHealthy) return { all: unhealthy }
  const without = unhealthy && { without: unhealthy }
  if (terms.length + prefixes.length === 0) return { all: { kind: kind ?? 'all' }, ...without }
  if (exact !== undefined) return { all: { exact }, ...without }
  const { health: _, ...anyHealth } = query
  const countAccess: AccessPath = access.type === 'health' ? { type: 'order' } : access
  return { all: countAll(anyHealth, countAccess, tables), isStable: true, ...without }
}

/** Counts the entries with the requested health, up to `commonSize` per class. */
export function healthSizeStatement(query: EntryQuery, tables: EntryTables): EntryStatement {
  const { values, add: value } = createValues<string | number>(tables.placeholder)
  const counts = healthClassesOf(query).map((healthClass) => {
    const some = `SELECT 1 FROM ${tables.byHealth} WHERE ${healthClassCondition(healthClass, query, value)} LIMIT ${commonSize}`
    return `(SELECT count(*) FROM (${some}) AS few)`
  })
  return { text: `SELECT ${counts.join(' + ')} AS total`, values }
}

/** Caches counts until an entry changes. `at` is the number of the last change, read before counting. */
export interface CountCache {
  get(key: string, at: number): number | undefined
  set(key: string, at: number, total: number): void
}

export function createCountCache(): CountCache {
  const counts = new Map<string, number>()
  let asOf = -1

  function moveTo(at: number): void {
    if (at === asOf) return
    counts.clear()
    asOf = at
  }

  return {
    get(key, at) {
      moveTo(at)
      return counts.get(key)
    },
    set(key, at, total) {
      if (at !== asOf) return
      if (counts.size >= maxCounts) counts.clear()
      counts.set(key, total)
    },
  }
}

/** Entries with a condition that at least this many match are found among the first rows; rarer ones need an index. */
export const commonSize = 1_000

/** The tables and conditions of a query. */
function sourceOf(
  query: EntryQuery,
  access: AccessPath,
  tables: EntryTables,
  value: AddEntryValue,
  unindexed = '',
  withAgents = true,
) {
  const { agents, byHealth, terms, join } = tables
  const { kind, health } = query
  const joinAgents = withAgents ? `${join} ${agents} e ON e.id = t.id` : ''
  const conditions: string[] = []
  let before = ''
  let [from, name, id] = [`FROM ${agents} e`, 'e.name', 'e.id']
  let remaining = query
  switch (access.type) {
    case 'term':
      from = `FROM ${terms} t ${joinAgents}`
      conditions.push(`t.term = ${value(access.text)}`)
      ;[name, id] = ['t.name', 't.id']
      remaining = { ...query, terms: (query.terms ?? []).filter((term) => term !== access.text) }
      break
    case 'prefix':
      from = `FROM (SELECT DISTINCT p.name, p.id FROM ${terms} p WHERE ${prefixCondition('p', access.text, value)}) t ${joinAgents}`
      ;[name, id] = ['t.name', 't.id']
      remaining = { ...query, prefixes: (query.prefixes ?? []).filter((prefix) => prefix !== access.text) }
      break
    case 'health': {
      const some = healthClassesOf(query).map(
        (healthClass) => `SELECT e.id FROM ${byHealth} WHERE ${healthClassCondition(healthClass, query, value)}`,
      )
      before = `WITH matched AS ${tables.materialized} (${some.join(' UNION ALL ')}) `
      from = `FROM matched t ${join} ${agents} e ON e.id = t.id`
      break
    }
    case 'order':
  }
  conditions.push(...termConditions(remaining, tables, value, name, id))
  if (access.type === 'health') return { before, from, conditions, name, id }
  if (kind !== undefined) conditions.push(...kindConditions(kind, health, value, unindexed))
  else if (health) {
    const either = kinds.map((entryKind) => `${unindexed}${allOf(kindConditions(entryKind, health, value, unindexed))}`)
    conditions.push(`(${either.join(' OR ')})`)
  }
  return { before, from, conditions, name, id }
}

/** The last code point is the upper bound, as no text sorts after it. */
function prefixCondition(table: string, prefix: string, value: AddEntryValue): string {
  return `${table}.term >= ${value(prefix)} AND ${table}.term < ${value(`${prefix}\u{10ffff}`)}`
}

function healthClassesOf({ kind, health }: EntryQuery): readonly HealthClass[] {
  return (kind ? [kind] : kinds).flatMap((entryKind): readonly HealthClass[] => {
    if (health?.isHealthy) return [`healthy ${entryKind}`]
    return entryKind === 'mesh' ? ['failing mesh', 'silent mesh'] : ['failing a2a']
  })
}

/** Disjoint classes of health, each a range of an index. */
type HealthClass = `${'healthy' | 'failing'} ${EntryKind}` | 'silent mesh'

function healthClassCondition(healthClass: HealthClass, { health }: EntryQuery, value: AddEntryValue): string {
  const since = health?.since ?? 0
  switch (healthClass) {
    case 'healthy mesh':
      return `e.kind = ${value('mesh')} AND e.trouble IS NULL AND e.seen >= ${value(since)}`
    case 'silent mesh':
      return `e.kind = ${value('mesh')} AND e.trouble IS NULL AND e.seen < ${value(since)}`
    case 'healthy a2a':
      return `e.kind = ${value('a2a')} AND e.trouble IS NULL`
    case 'failing mesh':
      return `e.kind = ${value('mesh')} AND e.trouble IS NOT NULL`
    case 'failing a2a':
      return `e.kind = ${value('a2a')} AND e.trouble IS NOT NULL`
  }
}

/** The limit makes PostgreSQL check each remaining row instead of searching all entries with the term. */
function termConditions(
  query: EntryQuery,
  { terms }: EntryTables,
  value: AddEntryValue,
  name: string,
  id: string,
): string[] {
  const having = (condition: string) => `EXISTS (SELECT 1 FROM ${terms} o WHERE ${condition} LIMIT 1 OFFSET 0)`
  return [
    ...(query.terms ?? []).map((term) => having(`o.term = ${value(term)} AND o.name = ${name} AND o.id = ${id}`)),
    ...(query.prefixes ?? []).map((prefix) => having(`o.id = ${id} AND ${prefixCondition('o', prefix, value)}`)),
  ]
}

/** A mesh peer is healthy only if it was seen recently; an A2A agent is probed by the registry itself. */
function kindConditions(
  kind: EntryKind,
  health: EntryQuery['health'],
  value: AddEntryValue,
  unindexed = '',
): readonly string[] {
  const isOfKind = `e.kind = ${value(kind)}`
  if (!health) return [isOfKind]
  const since = kind === 'mesh' ? `${unindexed}e.seen >= ${value(health.since)}` : '1 = 1'
  const isHealthy = `${unindexed}e.trouble IS NULL AND ${since}`
  return [isOfKind, health.isHealthy ? isHealthy : `NOT (${isHealthy})`]
}

function allOf(conditions: readonly string[]): string {
  return conditions.length > 0 ? conditions.join(' AND ') : '1 = 1'
}

function countAll(query: EntryQuery, access: AccessPath, tables: EntryTables): EntryStatement {
  const { values, add: value } = createValues<string | number>(tables.placeholder)
  const isNarrowed = query.kind !== undefined || query.health !== undefined || access.type === 'order'
  const { from, conditions } = sourceOf(query, access, tables, value, '', isNarrowed)
  return { text: `SELECT count(*) AS total ${from} WHERE ${allOf(conditions)}`, values }
}

function countUnhealthy(query: EntryQuery, since: number, tables: EntryTables): EntryStatement {
  const { values, add: value } = createValues<string | number>(tables.placeholder)
  const unhealthy = { ...query, health: { isHealthy: false, since } }
  const counts = healthClassesOf(unhealthy).map((healthClass) => {
    const conditions = [
      healthClassCondition(healthClass, unhealthy, value),
      ...termConditions(query, tables, value, 'e.name', 'e.id'),
    ]
    return `(SELECT count(*) FROM ${tables.byHealth} WHERE ${allOf(conditions)})`
  })
  return { text: `SELECT ${counts.join(' + ')} AS total`, values }
}
