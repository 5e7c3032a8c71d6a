import type { Message, Part } from '../protocol/model.ts'

/** What an author may write where text is meant: a string, a part, or several parts. */
export type Content = string | Part | readonly Part[]

export function toParts(content: Content): readonly Part[] {
  if (typeof content === 'string') return [{ text: content }]
  return isList(content) ? content : [content]
}

/** The text of a message: its text parts, one below the other. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  const [only] = parts
  if (only && parts.length === 1) return 'text' in only ? only.text : ''
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

/** Bytes as standard base64, without a `Buffer`, so that agents run wherever `fetch` is. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  const step = 0x8000 // as many arguments as every engine takes in one call
  for (let at = 0; at < bytes.length; at += step) binary += String.fromCharCode(...bytes.subarray(at, at + step))
  return btoa(binary)
}

function isList(content: Part | readonly Part[]): content is readonly Part[] {
  return Array.isArray(content)
}
