// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression matches control characters.
const special = /[\\\u0000-\u001f\u007f-\u009f]/

export function decodeText(text: string): string {
  if (!text.includes('\\')) return text
  if (text === '\\e') return ''
  return text.replace(/\\([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/**
 * Encodes any string as a text that a database can store, on one line: without NUL, lone surrogates and control
 * characters. Several of them fit into one value as lines, without quoting.
 */
export function encodeText(text: string): string {
  if (text === '') return '\\e'
  if (!special.test(text) && text.isWellFormed()) return text
  return text.replace(/[\\\p{Cc}\p{Cs}]/gu, (character) => `\\${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
