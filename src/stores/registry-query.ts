import type { EntryKind, EntryQuery } from '../registry/entry.ts'

const columns = 'e.id, e.name, e.kind, e.owner, e.seen, e.trouble, e.entry'

const kinds: readonly EntryKind[] = ['mesh', 'a2a']

/** So many questions are remembered. */
const most = 100

/** How many entries meet a condition; from `common` on it does not matter how many. */
export interface EntrySizes {
  readonly terms: readonly number[]
  readonly prefixes: readonly number[]
}

/** Whether it has to be known how many are as healthy as they shall be. */
export function needsHealth({ health }: EntryQuery, { terms, prefixes }: EntrySizes): boolean {
  return health !== undefined && Math.min(common, ...terms, ...prefixes) === common
}

/** What is read first. The rest is asked of each row that this gives. */
export type Lead =
  | { readonly type: 'term' | 'prefix'; readonly text: string }
  /** Those that are as healthy as they shall be. */
  | { readonly type: 'health' }
  /** All, in the order in which they are wanted. */
  | { readonly type: 'order' }

export interface EntryPlan {
  readonly query: EntryQuery
  readonly lead: Lead
  /** What leads gives few rows. */
  readonly isRare: boolean
  /** How many have the one term that is all that is asked for. */
  readonly exact?: number
}

/** The rarest leads. A term that all have is still in the order of the names, so it may lead as well. */
export function planOf(query: EntryQuery, sizes: EntrySizes, health = common): EntryPlan {
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
  const made = { query: sorted, isRare: false, ...(isOnly && { exact: rarest.size }) }
  if (rarest && rarest.size < common) return { ...made, isRare: true, lead: rarest }
  if (health < common) return { ...made, lead: { type: 'health' } }
  const [term] = sorted.terms
  if (term !== undefined && order === 'name') return { ...made, lead: { type: 'term', text: term } }
  return { ...made, lead: { type: 'order' } }
}

/** The tables as a database calls them, and how it writes the place of a value. */
export interface EntryTables {
  readonly agents: string
  /** The same, looked up by kind, trouble and when they were seen. */
  readonly byHealth: string
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

/** What is asked of SQLite and PostgreSQL for a page: it costs what is on it, and not how many there are. */
export function pageStatement({ query, lead }: EntryPlan, tables: EntryTables): EntryStatement {
  const { values, value } = collector(tables)
  const { before, from, conditions, name, id } = sourceOf(query, lead, tables, value, tables.unindexed)
  const { after, order = 'name', limit } = query
  if (after) conditions.push(`(${name}, ${id}) > (${value(after.name)}, ${value(after.id)})`)
  const sorted = order === 'best' ? `(e.trouble IS NOT NULL), e.rank, e.name, e.id` : `${name}, ${id}`
  return {
    text: `${before}SELECT ${columns} ${from} WHERE ${where(conditions)} ORDER BY ${sorted} LIMIT ${value(limit)}`,
    values,
  }
}

/** How many there are, and how many of them do not count. */
export interface EntryCount {
  readonly all: EntryStatement | { readonly known: EntryKind | 'all' } | { readonly exact: number }
  /** It stays the same until something changes. */
  readonly isStable?: boolean
  readonly without?: EntryStatement
}

/** Most are healthy: of what many have, the others are taken off. */
export function countOf({ query, lead, isRare, exact }: EntryPlan, tables: EntryTables): EntryCount | undefined {
  if (query.uncounted) return undefined
  const { kind, health, terms = [], prefixes = [] } = query
  if (health && isRare) return { all: countAll(query, lead, tables) }
  const unhealthy = health && countUnhealthy(query, health.since, tables)
  if (unhealthy && !health.isHealthy) return { all: unhealthy }
  const without = unhealthy && { without: unhealthy }
  if (terms.length + prefixes.length === 0) return { all: { known: kind ?? 'all' }, ...without }
  if (exact !== undefined) return { all: { exact }, ...without }
  const { health: _, ...whole } = query
  const led: Lead = lead.type === 'health' ? { type: 'order' } : lead
  return { all: countAll(whole, led, tables), isStable: true, ...without }
}

/** Up to `common` of those who are as healthy as they shall be, of each sort. */
export function healthSize(query: EntryQuery, tables: EntryTables): EntryStatement {
  const { values, value } = collector(tables)
  const counts = sortsOf(query).map((sort) => {
    const some = `SELECT 1 FROM ${tables.byHealth} WHERE ${ofSort(sort, query, value)} LIMIT ${common}`
    return `(SELECT count(*) FROM (${some}) AS few)`
  })
  return { text: `SELECT ${counts.join(' + ')} AS total`, values }
}

/** Of questions, how many entries answer them: counted once, until something changes. */
export interface StableCounts {
  get(question: string, at: number): number | undefined
  set(question: string, at: number, total: number): void
}

/** `at` is the number of the last change, read before it was counted. */
export function createStableCounts(): StableCounts {
  const counts = new Map<string, number>()
  let asOf = -1

  function moveTo(at: number): void {
    if (at === asOf) return
    counts.clear()
    asOf = at
  }

  return {
    get(question, at) {
      moveTo(at)
      return counts.get(question)
    },
    set(question, at, total) {
      if (at !== asOf) return
      if (counts.size >= most) counts.clear()
      counts.set(question, total)
    },
  }
}

/** What so many entries meet is found among the first of all; what fewer meet is looked up. */
export const common = 1_000

function collector({ place }: EntryTables) {
  const values: (string | number)[] = []
  const value: Value = (given) => place(values.push(given))
  return { values, value }
}

type Value = (value: string | number) => string

/** The rows that are meant, with those of the agents beside them where they are needed. */
function sourceOf(query: EntryQuery, lead: Lead, tables: EntryTables, value: Value, unindexed = '', withAgents = true) {
  const { agents, byHealth, terms, join } = tables
  const { kind, health } = query
  const beside = withAgents ? `${join} ${agents} e ON e.id = t.id` : ''
  const conditions: string[] = []
  let before = ''
  let [from, name, id] = [`FROM ${agents} e`, 'e.name', 'e.id']
  let left = query
  switch (lead.type) {
    case 'term':
      from = `FROM ${terms} t ${beside}`
      conditions.push(`t.term = ${value(lead.text)}`)
      ;[name, id] = ['t.name', 't.id']
      left = { ...query, terms: (query.terms ?? []).filter((term) => term !== lead.text) }
      break
    case 'prefix':
      from = `FROM (SELECT DISTINCT p.name, p.id FROM ${terms} p WHERE ${within('p', lead.text, value)}) t ${beside}`
      ;[name, id] = ['t.name', 't.id']
      left = { ...query, prefixes: (query.prefixes ?? []).filter((prefix) => prefix !== lead.text) }
      break
    case 'health': {
      const some = sortsOf(query).map((sort) => `SELECT e.id FROM ${byHealth} WHERE ${ofSort(sort, query, value)}`)
      before = `WITH led AS MATERIALIZED (${some.join(' UNION ALL ')}) `
      from = `FROM led t ${join} ${agents} e ON e.id = t.id`
      break
    }
    case 'order':
  }
  conditions.push(...havingAll(left, tables, value, name, id))
  if (lead.type === 'health') return { before, from, conditions, name, id }
  if (kind !== undefined) conditions.push(...ofKind(kind, health, value, unindexed))
  else if (health) {
    const either = kinds.map((each) => `${unindexed}${where(ofKind(each, health, value, unindexed))}`)
    conditions.push(`(${either.join(' OR ')})`)
  }
  return { before, from, conditions, name, id }
}

/** No text is sorted behind the last code point. */
function within(table: string, prefix: string, value: Value): string {
  return `${table}.term >= ${value(prefix)} AND ${table}.term < ${value(`${prefix}\u{10ffff}`)}`
}

function sortsOf({ kind, health }: EntryQuery): readonly Sort[] {
  return (kind ? [kind] : kinds).flatMap((each): readonly Sort[] => {
    if (health?.isHealthy) return [`well ${each}`]
    return each === 'mesh' ? ['troubled mesh', 'silent mesh'] : ['troubled a2a']
  })
}

/** The same in pieces that exclude each other, each a part of an index. */
type Sort = `${'well' | 'troubled'} ${EntryKind}` | 'silent mesh'

function ofSort(sort: Sort, { health }: EntryQuery, value: Value): string {
  const since = health?.since ?? 0
  switch (sort) {
    case 'well mesh':
      return `e.kind = ${value('mesh')} AND e.trouble IS NULL AND e.seen >= ${value(since)}`
    case 'silent mesh':
      return `e.kind = ${value('mesh')} AND e.trouble IS NULL AND e.seen < ${value(since)}`
    case 'well a2a':
      return `e.kind = ${value('a2a')} AND e.trouble IS NULL`
    case 'troubled mesh':
      return `e.kind = ${value('mesh')} AND e.trouble IS NOT NULL`
    case 'troubled a2a':
      return `e.kind = ${value('a2a')} AND e.trouble IS NOT NULL`
  }
}

/** By its limit PostgreSQL asks it of each row that is left, and does not look for all who have the term. */
function havingAll(query: EntryQuery, { terms }: EntryTables, value: Value, name: string, id: string): string[] {
  const having = (condition: string) => `EXISTS (SELECT 1 FROM ${terms} o WHERE ${condition} LIMIT 1 OFFSET 0)`
  return [
    ...(query.terms ?? []).map((term) => having(`o.term = ${value(term)} AND o.name = ${name} AND o.id = ${id}`)),
    ...(query.prefixes ?? []).map((prefix) => having(`o.id = ${id} AND ${within('o', prefix, value)}`)),
  ]
}

/** A peer of the mesh has to have been heard of; an agent of A2A is looked at by the registry itself. */
function ofKind(kind: EntryKind, health: EntryQuery['health'], value: Value, unindexed = ''): readonly string[] {
  const isOfKind = `e.kind = ${value(kind)}`
  if (!health) return [isOfKind]
  const since = kind === 'mesh' ? `${unindexed}e.seen >= ${value(health.since)}` : '1 = 1'
  const isHealthy = `${unindexed}e.trouble IS NULL AND ${since}`
  return [isOfKind, health.isHealthy ? isHealthy : `NOT (${isHealthy})`]
}

function where(conditions: readonly string[]): string {
  return conditions.length > 0 ? conditions.join(' AND ') : '1 = 1'
}

function countAll(query: EntryQuery, lead: Lead, tables: EntryTables): EntryStatement {
  const { values, value } = collector(tables)
  const isNarrowed = query.kind !== undefined || query.health !== undefined || lead.type === 'order'
  const { from, conditions } = sourceOf(query, lead, tables, value, '', isNarrowed)
  return { text: `SELECT count(*) AS total ${from} WHERE ${where(conditions)}`, values }
}

function countUnhealthy(query: EntryQuery, since: number, tables: EntryTables): EntryStatement {
  const { values, value } = collector(tables)
  const unhealthy = { ...query, health: { isHealthy: false, since } }
  const counts = sortsOf(unhealthy).map((sort) => {
    const conditions = [ofSort(sort, unhealthy, value), ...havingAll(query, tables, value, 'e.name', 'e.id')]
    return `(SELECT count(*) FROM ${tables.byHealth} WHERE ${where(conditions)})`
  })
  return { text: `SELECT ${counts.join(' + ')} AS total`, values }
}
