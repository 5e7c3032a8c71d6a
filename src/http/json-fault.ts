import { JsonError } from './json-text.ts'

/** Characters that are searched: a hostile body must not cost much more than an honest one. */
const SEARCHED = 256 * 1024

const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
/** All but control characters, the quote and the backslash. */
const plain = /[ !#-[\]-\uffff]*/y
const escaped = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

/**
 * Reads a text that is known to be faulty once more, slowly, and throws its first fault: engines do not reliably tell
 * where it is. It recurses, so the depth of the text must be limited before.
 */
export function throwFault(text: string): never {
  let at = 0
  const fail = (): never => {
    throw new JsonError(`not valid JSON at position ${at}`)
  }

  const skip = (pattern: RegExp): boolean => {
    if (at > SEARCHED) throw new JsonError(`not valid JSON, or a duplicate key, after position ${SEARCHED}`)
    pattern.lastIndex = at
    if (!pattern.test(text)) return false
    at = pattern.lastIndex
    return true
  }
  const skipSpace = (): void => {
    while (isSpace(text.charCodeAt(at))) at++
  }
  const take = (character: string): boolean => {
    if (text[at] !== character) return false
    at++
    return true
  }

  const value = (): void => {
    skipSpace()
    if (take('{')) object()
    else if (take('[')) list(']', value)
    else if (text[at] === '"') string()
    else if (!skip(scalar)) fail()
    skipSpace()
  }
  const list = (close: string, item: () => void): void => {
    skipSpace()
    if (take(close)) return
    do item()
    while (take(','))
    if (!take(close)) fail()
  }
  const object = (): void => {
    const keys = new Set<string>()
    list('}', () => {
      skipSpace()
      const start = at
      const key: string = JSON.parse(string())
      if (keys.has(key)) throw new JsonError(`duplicate key ${brief(key)} at position ${start}`)
      keys.add(key)
      skipSpace()
      if (!take(':')) fail()
      value()
    })
  }
  const string = (): string => {
    const start = at
    if (!take('"')) fail()
    do skip(plain)
    while (skip(escaped))
    if (!take('"')) fail()
    return text.slice(start, at)
  }

  value()
  return fail()
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}

function brief(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}…` : key)
}
