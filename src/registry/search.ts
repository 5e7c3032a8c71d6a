import { invalidParams } from '../protocol/errors.ts'
import type { EntryKind, RegistryEntry } from './entry.ts'
import type { EntryQuery, EntryStore } from './entry-store.ts'
import { type AgentListing, listingOf } from './listing.ts'
import { type AgentQuery, conditionsOf, maxConditions } from './terms.ts'

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

export interface SearchOptions {
  readonly entries: EntryStore
  readonly isHealthy: (entry: RegistryEntry) => boolean
  /** Since when a peer of the mesh must have been heard of to be healthy. */
  readonly healthySince: () => number
}

const maxLimit = 100

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

/** Others write queries, too. */
function isTexts(value: unknown): boolean {
  if (value === undefined || typeof value === 'string') return true
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

/** Where the page ends; it stays valid whatever comes and goes. */
function cursorOf({ name, id }: RegistryEntry): string {
  const bytes = new TextEncoder().encode(JSON.stringify([name, id]))
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function placeOf(cursor: string): { readonly name: string; readonly id: string } {
  try {
    const text = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'))
    const [name, id] = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (each) => each.charCodeAt(0))))
    if (typeof name === 'string' && typeof id === 'string') return { name, id }
  } catch {
    // It is none of ours.
  }
  throw invalidParams('cursor', 'expected the nextCursor of another page: begin again without it')
}
