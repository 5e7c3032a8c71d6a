import type { EntryQuery, FoundEntries } from '../../registry/entry-store.ts'
import { type EntryStatement, type EntryStatements, entryStatements } from '../entry-query.ts'
import type { Database, Query } from './database.ts'
import { type EntryRow, entryOf } from './entry-rows.ts'
import { encodeText } from './text.ts'

/** So many different questions are kept prepared. */
const maxPrepared = 100

/** A page and how many there are, each by a statement of its own; they go out together. */
export function createFindEntries(db: Database): (query: EntryQuery) => Promise<FoundEntries> {
  const tables = {
    agents: db.name('registry_agents'),
    terms: db.name('registry_terms'),
    state: db.name('registry_state'),
    place: (index: number) => `$${index}`,
    join: 'JOIN',
    unindexed: '',
  }
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

  const rarities = db.prepare<{ readonly term: string }>(`
    SELECT term FROM unnest(string_to_array($1, E'\\n')) AS wanted (term) ORDER BY (
      SELECT count(*) FROM (SELECT 1 FROM ${tables.terms} t WHERE t.term = wanted.term LIMIT 1000) AS counted)`)

  /** A plan that is made for any term cannot know which is rare. */
  async function rarestFirst(query: EntryQuery): Promise<EntryQuery> {
    const { terms = [] } = query
    if (terms.length < 2) return query
    return { ...query, terms: (await rarities(terms.join('\n'))).map(({ term }) => term) }
  }

  async function totalOf(count: EntryStatements['count']): Promise<number> {
    if (count === 'none') return 0
    const counting =
      'known' in count ? { text: `SELECT ${known[count.known]} AS total FROM ${tables.state}`, values: [] } : count
    const [counted] = await ask<{ readonly total: string }>(counting)
    return Number(counted?.total ?? 0)
  }

  return async (query) => {
    const { page, count } = entryStatements(await rarestFirst(encoded(query)), tables)
    const [rows, total] = await Promise.all([ask<EntryRow>(page), totalOf(count)])
    return { entries: rows.map(entryOf), total }
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
