import type { Message } from './model.ts'

/** The text of a message: its text parts, one below the other. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  const [only] = parts
  if (only && parts.length === 1) return 'text' in only ? only.text : ''
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}
