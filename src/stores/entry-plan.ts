import type { EntryQuery } from '../registry/entry-store.ts'

/** How many entries meet a condition; from `common` on it does not matter how many. */
export interface EntrySizes {
  readonly terms: readonly number[]
  readonly prefixes: readonly number[]
}

/** What so many entries meet is found among the first of all; what fewer meet is looked up. */
export const common = 1_000

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

/** Whether it has to be known how many are as healthy as they shall be. */
export function needsHealth({ health }: EntryQuery, { terms, prefixes }: EntrySizes): boolean {
  return health !== undefined && Math.min(common, ...terms, ...prefixes) === common
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
