import type { Message } from './model.ts'

/** The text of a message: its text parts, one below the other. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  const [only] = parts
  if (only && parts.length === 1) return 'text' in only ? only.text : ''
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

/** Bytes as standard base64, without a `Buffer`, so that it runs wherever `fetch` is. */
export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  const step = 0x8000 // as many arguments as every engine takes in one call
  for (let at = 0; at < bytes.length; at += step) binary += String.fromCharCode(...bytes.subarray(at, at + step))
  return btoa(binary)
}

export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  return Uint8Array.from(binary, (character) => character.charCodeAt(0))
}
