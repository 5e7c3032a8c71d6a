import type { RegistryEntry } from './entry.ts'
import type { EntryQuery } from './entry-store.ts'

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

/** What one query may ask for together. */
export const maxConditions = 20
/** A card with more of them is found by the first: others search here, too. */
const maxTerms = 2_000
const maxWords = 500
const maxLength = 200

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

export function conditionsOf({ skill: skills, tag: tags, capability: capabilities, text = '' }: AgentQuery) {
  return {
    terms: [...listOf(skills).map(skill), ...listOf(tags).map(tag), ...listOf(capabilities).map(capability)],
    prefixes: wordsIn(text).map(word),
  } satisfies Pick<EntryQuery, 'terms' | 'prefixes'>
}

const skill = (text: string) => `s:${folded(text)}`
const tag = (text: string) => `t:${folded(text)}`
const capability = (text: string) => `c:${text.slice(0, maxLength)}`
const word = (text: string) => `w:${text.slice(0, maxLength)}`

function wordsIn(text: string): readonly string[] {
  return [...new Set(folded(text, Number.POSITIVE_INFINITY).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])]
}

/** Alike for whoever reads it: letters in any case and of any width. */
function folded(text: string, length = maxLength): string {
  return text.normalize('NFKC').trim().toLowerCase().slice(0, length)
}

function listOf(value: string | readonly string[] = []): readonly string[] {
  return typeof value === 'string' ? [value] : value
}
