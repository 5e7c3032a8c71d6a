import { fromBase64Url, toBase64Url } from '../base/base64.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { EntryKind, EntryQuery, EntryStore, RegistryEntry } from './entry.ts'
import { type AgentListing, listingOf } from './listing.ts'

/** What one query may ask for together. */
const maxConditions = 20

/** A card with more of them is found by the first: others search here, too. */
const maxTerms = 2_000

const maxWords = 500

const maxLength = 200

const maxLimit = 100

const tier = 1_000_000

/** The words by which an entry is found: each with a letter for what it is. */
export function termsOf(entry: RegistryEntry): readonly string[] {
  const terms = new Set<string>()
  const texts: string[] = [entry.name]
  if (entry.kind === 'mesh') {
    const { capabilities, description } = entry.card
    for (const each of capabilities) {
      terms.add(capability(each)).add(skill(each)).add(tag(each))
    }
    texts.push(entry.id, description, ...capabilities)
  } else {
    const { description, skills, features } = entry.about
    for (const each of features) terms.add(capability(each))
    for (const { id, name, tags } of skills) {
      terms.add(capability(id)).add(skill(id)).add(skill(name))
      for (const each of tags) terms.add(capability(each)).add(tag(each))
    }
    texts.push(description, ...skills.flatMap(({ name, description: more, tags }) => [name, more, ...tags]))
  }
  const words = wordsIn(texts.join(' ')).slice(0, maxWords).map(word)
  return [...[...terms].slice(0, maxTerms), ...words]
}

export interface SearchOptions {
  readonly entries: EntryStore
  readonly isHealthy: (entry: RegistryEntry) => boolean
  /** Since when a peer of the mesh must have been heard of to be healthy. */
  readonly healthySince: () => number
}

/** By what agents are searched. All that is given must be met. */
export interface AgentQuery {
  /** By id or name, in any case. A peer of the mesh has its capabilities for skills. */
  readonly skill?: string | readonly string[]
  /** In any case. */
  readonly tag?: string | readonly string[]
  /** Written exactly so: what a peer of the mesh can; ids and tags of skills, and features such as `streaming`, of A2A. */
  readonly capability?: string | readonly string[]
  /** Words that name, description and skills have, or how they begin. */
  readonly text?: string
}

export interface SearchQuery extends AgentQuery {
  readonly kind?: EntryKind
  readonly status?: 'healthy' | 'unhealthy' | 'all'
  /** From 1 to 100, which it is unless it is given. */
  readonly limit?: number
  /** Goes on where a page ended. */
  readonly cursor?: string
}

export interface SearchResult {
  /** By name, then by id. */
  readonly agents: readonly AgentListing[]
  /** Of all pages. */
  readonly totalCount: number
  /** There is none on the last page. */
  readonly nextCursor?: string
  readonly queryTimeMs: number
}

export function createSearch({ entries, isHealthy, healthySince }: SearchOptions) {
  return async (query: SearchQuery = {}): Promise<SearchResult> => {
    const begun = performance.now()
    const { limit = maxLimit } = query
    const found = await entries.find({ ...entryQueryOf(query, healthySince()), limit: limit + 1 })
    const page = found.entries.slice(0, limit)
    const last = page.at(-1)
    return {
      agents: page.map((entry) => listingOf(entry, isHealthy(entry))),
      totalCount: found.total,
      ...(last && found.entries.length > limit && { nextCursor: cursorOf(last) }),
      queryTimeMs: performance.now() - begun,
    }
  }
}

/** Lower is better: it completed a task, conforms and can be reached, was not tried; among equals who was faster. */
export function rankOf(entry: RegistryEntry): number {
  // A peer that registered speaks our protocol; nobody has measured how fast.
  if (entry.kind === 'mesh') return 1.5 * tier
  const { reachable, conforms, completed } = entry.sightings
  const latency = Math.min(tier - 1, Math.max(0, Math.round(completed?.latency ?? reachable?.latency ?? tier)))
  if (reachable?.ok === false || !conforms?.ok) return 4 * tier + latency
  if (completed) return (completed.ok ? 0 : 3 * tier) + latency
  // Of a card in a catalog nobody knows whether its agent is there.
  return (reachable ? tier : 2 * tier) + latency
}

/** Throws `invalid-params` with the name of what is wrong. */
export function entryQueryOf(query: SearchQuery, since: number): EntryQuery {
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
    if (!isTexts(query[name])) throw invalidParams(name, 'expected a text or a list of them')
  }
  if (cursor !== undefined && typeof cursor !== 'string') throw invalidParams('cursor', 'expected a text')
  if (query.text !== undefined && typeof query.text !== 'string') throw invalidParams('text', 'expected a text')
  const conditions = conditionsOf(query)
  if (conditions.terms.length + conditions.prefixes.length > maxConditions) {
    throw invalidParams('query', `expected at most ${maxConditions} skills, tags, capabilities and words together`)
  }
  return {
    ...conditions,
    limit,
    ...(kind && { kind }),
    ...(status !== 'all' && { health: { isHealthy: status === 'healthy', since } }),
    ...(cursor !== undefined && { after: placeOf(cursor) }),
  }
}

export function conditionsOf({ skill: skills, tag: tags, capability: capabilities, text = '' }: AgentQuery) {
  return {
    terms: [...listOf(skills).map(skill), ...listOf(tags).map(tag), ...listOf(capabilities).map(capability)],
    prefixes: wordsIn(text).map(word),
  } satisfies Pick<EntryQuery, 'terms' | 'prefixes'>
}

const skill = (text: string) => `s:${folded(text)}`

/** Alike for whoever reads it: letters in any case and of any width. */
function folded(text: string, length = maxLength): string {
  return text.normalize('NFKC').trim().toLowerCase().slice(0, length)
}

const tag = (text: string) => `t:${folded(text)}`

const capability = (text: string) => `c:${text.slice(0, maxLength)}`

function wordsIn(text: string): readonly string[] {
  return [...new Set(folded(text, Number.POSITIVE_INFINITY).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])]
}

const word = (text: string) => `w:${text.slice(0, maxLength)}`

function listOf(value: string | readonly string[] = []): readonly string[] {
  return typeof value === 'string' ? [value] : value
}

/** Where the page ends; it stays valid whatever comes and goes. */
function cursorOf({ name, id }: RegistryEntry): string {
  const bytes = new TextEncoder().encode(JSON.stringify([name, id]))
  return toBase64Url(bytes)
}

/** Others write queries, too. */
function isTexts(value: unknown): boolean {
  if (value === undefined || typeof value === 'string') return true
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function placeOf(cursor: string): { readonly name: string; readonly id: string } {
  try {
    const [name, id] = JSON.parse(new TextDecoder().decode(fromBase64Url(cursor)))
    if (typeof name === 'string' && typeof id === 'string') return { name, id }
  } catch {
    // It is none of ours.
  }
  throw invalidParams('cursor', 'expected the nextCursor of another page: begin again without it')
}
