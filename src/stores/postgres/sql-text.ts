// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
const special = /[\\\u0000-\u001f\u007f-\u009f]/

export function decodeText(text: string): string {
  if (!text.includes('\\')) return text
  if (text === '\\e') return ''
  return text.replace(/\\([0-9a-f]{4})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Texts as lines of one value; an empty line is a NULL. */
export function lines(texts: readonly (string | undefined)[]): string {
  return texts.map((text) => (text === undefined ? '' : encodeText(text))).join('\n')
}

/** Values without commas, quotes or braces as an array of PostgreSQL. */
export function array(values: readonly (string | number | boolean | null | undefined)[]): string {
  return `{${values.map((value) => value ?? 'NULL').join(',')}}`
}

/**
 * Any string as a text that PostgreSQL can hold, and that is one line: it has no NUL, no half of a surrogate pair and
 * no control character. Several of them can travel as the lines of one value, which needs no quoting.
 */
export function encodeText(text: string): string {
  if (text === '') return '\\e'
  if (!special.test(text) && text.isWellFormed()) return text
  return text.replace(/[\\\p{Cc}\p{Cs}]/gu, (character) => `\\${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
