import type { Part } from '../protocol/model.ts'

/** What an author may write where text is meant: a string, a part, or several parts. */
export type Content = string | Part | readonly Part[]

export function toParts(content: Content): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }]
  return isList(content) ? content : [content]
}

function isList(content: Part | readonly Part[]): content is readonly Part[] {
  return Array.isArray(content)
}
