import { fromBase64Url, toBase64Url } from '../core/base/base64.ts'
import { defined } from '../core/base/json.ts'
import { invalidParams } from '../core/protocol/errors.ts'
import {
  type AgentListing,
  type EntryKind,
  type EntryQuery,
  listingOf,
  type RegistryEntry,
  type RegistryStore,
} from './entry.ts'

/** Skills, tags, capabilities and words in one query. */
const maxConditions = 20

/** Terms per entry. A card with more can be found by the first ones only, so that one card cannot slow down the store. */
const maxTerms = 2_000

const maxWords = 500

const maxTermLength = 200

const maxLimit = 100

/** Distance between two classes of ranks; latencies order entries within a class. */
const rankClass = 1_000_000

export interface SearchOptions {
  readonly entries: RegistryStore
  readonly isHealthy: (entry: RegistryEntry) => boolean
  /** A healthy mesh peer was seen at or after this time. */
  readonly healthySince: () => number
}

/** Conditions for agents. An agent must meet all of them. */
export interface AgentQuery {
  /** Skill ids or names, case-insensitive. For mesh peers, their capabilities. */
  readonly skill?: string | readonly string[]
  /** Case-insensitive. */
  readonly tag?: string | readonly string[]
  /** Case-sensitive: capabilities of mesh peers; skill ids, skill tags and features such as `streaming` of A2A agents. */
  readonly capability?: string | readonly string[]
  /** Words, or starts of words, in the name, the description and the skills. */
  readonly text?: string
}

/** What `registry.search` searches for. Without members, it lists every agent. */
export interface SearchQuery extends AgentQuery {
  readonly kind?: EntryKind
  readonly status?: 'healthy' | 'unhealthy' | 'all'
  /** From 1 to 100. Defaults to 100. */
  readonly limit?: number
  /** `nextCursor` of the previous page. */
  readonly cursor?: string
}

/** A page of agents. */
export interface SearchResult {
  /** Sorted by name, then by id. */
  readonly agents: readonly AgentListing[]
  /** Count over all pages. */
  readonly totalCount: number
  /** Missing on the last page. */
  readonly nextCursor?: string
  readonly queryTimeMs: number
}

export function createSearch({ entries, isHealthy, healthySince }: SearchOptions) {
  return async (query: SearchQuery = {}): Promise<SearchResult> => {
    const start = performance.now()
    const { limit = maxLimit } = query
    const matches = await entries.find({ ...toEntryQuery(query, healthySince()), limit: limit + 1 })
    const page = matches.entries.slice(0, limit)
    const last = page.at(-1)
    return defined({
      agents: page.map((entry) => listingOf(entry, isHealthy(entry))),
      totalCount: matches.total,
      nextCursor: last && matches.entries.length > limit ? encodeCursor(last) : undefined,
      queryTimeMs: performance.now() - start,
    })
  }
}

/** Validates a query. Throws `invalid-params` that names the invalid member. */
export function toEntryQuery(query: SearchQuery, since: number): EntryQuery {
  const { kind, status = 'all', limit = maxLimit, cursor } = query
  if (!Number.isInteger(limit) || limit < 1 || limit > maxLimit) {
    throw invalidParams('limit', `expected a whole number from 1 to ${maxLimit}, got ${limit}`)
  }
  if (!['healthy', 'unhealthy', 'all'].includes(status)) {
    throw invalidParams('status', `expected healthy, unhealthy or all, got ${JSON.stringify(status)}`)
  }
  if (kind !== undefined && kind !== 'mesh' && kind !== 'a2a') {
    throw invalidParams('kind', `expected mesh or a2a, got ${JSON.stringify(kind)}`)
  }
  for (const name of ['skill', 'tag', 'capability'] as const) {
    if (!isStringOrList(query[name])) throw invalidParams(name, 'expected a string or a list of strings')
  }
  if (cursor !== undefined && typeof cursor !== 'string') throw invalidParams('cursor', 'expected a string')
  if (query.text !== undefined && typeof query.text !== 'string') throw invalidParams('text', 'expected a string')
  const conditions = searchConditions(query)
  if (conditions.terms.length + conditions.prefixes.length > maxConditions) {
    throw invalidParams('query', `expected at most ${maxConditions} skills, tags, capabilities and words together`)
  }
  return {
    ...conditions,
    limit,
    ...defined({
      kind,
      health: status === 'all' ? undefined : { isHealthy: status === 'healthy', since },
      after: cursor === undefined ? undefined : decodeCursor(cursor),
    }),
  }
}

export function searchConditions({ skill, tag, capability, text = '' }: AgentQuery) {
  return {
    terms: [...listOf(skill).map(skillTerm), ...listOf(tag).map(tagTerm), ...listOf(capability).map(capabilityTerm)],
    prefixes: wordsOfQuery(text).map(wordTerm),
  } satisfies Pick<EntryQuery, 'terms' | 'prefixes'>
}

/** The search terms of an entry. A letter in front of each says what it is, such as `s:` for a skill. */
export function termsOf(entry: RegistryEntry): readonly string[] {
  const terms = new Set<string>()
  const texts: string[] = [entry.name]
  if (entry.kind === 'mesh') {
    const { capabilities, description } = entry.card
    for (const capability of capabilities) {
      terms.add(capabilityTerm(capability)).add(skillTerm(capability)).add(tagTerm(capability))
    }
    texts.push(entry.id, description, ...capabilities)
  } else {
    const { description, skills, features } = entry.about
    for (const feature of features) terms.add(capabilityTerm(feature))
    for (const { id, name, tags } of skills) {
      terms.add(capabilityTerm(id)).add(skillTerm(id)).add(skillTerm(name))
      for (const tag of tags) terms.add(capabilityTerm(tag)).add(tagTerm(tag))
    }
    texts.push(description, ...skills.flatMap((skill) => [skill.name, skill.description, ...skill.tags]))
  }
  const words = wordsIn(texts.join(' ')).slice(0, maxWords).map(wordTerm)
  return [...[...terms].slice(0, maxTerms), ...words]
}

/**
 * Lower is better. In order: agents that completed a task, reachable conforming ones, untried ones, those that failed the
 * probe, and unreachable or invalid ones; within a class, by latency.
 */
export function rankOf(entry: RegistryEntry): number {
  // Registering shows that a peer speaks the protocol; its latency is not measured.
  if (entry.kind === 'mesh') return 1.5 * rankClass
  const { reachable, conforms, completed } = entry.sightings
  const measured = completed?.latency ?? reachable?.latency ?? rankClass
  const latency = Math.min(rankClass - 1, Math.max(0, Math.round(measured)))
  if (reachable?.ok === false || !conforms?.ok) return 4 * rankClass + latency
  if (completed) return (completed.ok ? 0 : 3 * rankClass) + latency
  // An inline card in a catalog does not show that the agent is reachable.
  return (reachable ? rankClass : 2 * rankClass) + latency
}

const skillTerm = (text: string) => `s:${normalize(text)}`

const tagTerm = (text: string) => `t:${normalize(text)}`

const capabilityTerm = (text: string) => `c:${shorten(text)}`

const wordTerm = (text: string) => `w:${shorten(text)}`

/** Half of a surrogate pair would be another character in each store. */
function shorten(text: string, length = maxTermLength): string {
  return text.slice(0, length).toWellFormed()
}

/** Folds case and compatibility forms such as full-width letters. */
function normalize(text: string, length = maxTermLength): string {
  return shorten(text.normalize('NFKC').trim().toLowerCase(), length)
}

/** Words, and signs that mean something on their own: `%`, `_`, currencies, emoji. Other punctuation separates words. */
function wordsIn(text: string): readonly string[] {
  return [...new Set(normalize(text, Number.POSITIVE_INFINITY).match(/[\p{L}\p{N}\p{M}]+|[%_#@&*\p{S}]/gu) ?? [])]
}

/** A text of punctuation only finds nothing, instead of everything. */
function wordsOfQuery(text: string): readonly string[] {
  const words = wordsIn(text)
  return words.length > 0 || text.trim() === '' ? words : [text.trim()]
}

function listOf(value: string | readonly string[] = []): readonly string[] {
  return typeof value === 'string' ? [value] : value
}

/** Queries of mesh peers are not type-checked. */
function isStringOrList(value: unknown): boolean {
  if (value === undefined || typeof value === 'string') return true
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

/** Names the last entry of a page instead of its position, so that it stays valid when entries are added or removed. */
function encodeCursor({ name, id }: RegistryEntry): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify([name, id])))
}

function decodeCursor(cursor: string): { readonly name: string; readonly id: string } {
  try {
    const [name, id] = JSON.parse(new TextDecoder().decode(fromBase64Url(cursor)))
    if (typeof name === 'string' && typeof id === 'string') return { name, id }
  } catch {
    // Not a cursor from encodeCursor.
  }
  throw invalidParams('cursor', 'expected the nextCursor of another page: start again without it')
}
