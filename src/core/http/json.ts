export interface JsonLimits {
  /** Maximum nesting of arrays and objects. Defaults to 64. */
  readonly depth?: number
  /**
   * Maximum number of values and member names. Defaults to 500,000. Time and memory of parsing depend on it more than on the length: ten
   * megabytes of empty lists become hundreds of megabytes.
   */
  readonly values?: number
}

/** Like `JSON.parse`, but rejects deep nesting, which would overflow the stack of recursive readers. */
export function parseJsonText(text: string, { depth = 64 }: JsonLimits = {}): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new JsonError('not valid JSON')
  }
  if (isDeeper(value, depth)) throw tooDeep(depth)
  return value
}

/**
 * Like `JSON.parse` on UTF-8 bytes, but rejects input that two readers may interpret differently (duplicate keys,
 * invalid UTF-8), and deep nesting, which would overflow the stack of recursive readers.
 */
export function parseJson(bytes: Uint8Array, { depth = 64, values = 500_000 }: JsonLimits = {}): unknown {
  const text = decodeUtf8(bytes)
  const members = scan(text, depth, values)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throwFirstError(text)
  }
  // `JSON.parse` keeps one of two members with the same key, so the value has fewer members than the text.
  if (countMembers(value) !== members) throwFirstError(text)
  return value
}

/** Bodies from this length on are parsed one per iteration of the event loop. In bytes. */
const minLargeBody = 256 * 1024

/** When the last large body is parsed. */
let largeBodies: Promise<unknown> = Promise.resolve()

/**
 * Parses a body. Large ones take turns: a parser cannot pause, but requests that are ready get their share between two
 * large bodies. A short body is parsed at once, without a promise.
 */
export function parseJsonBody(bytes: Uint8Array, limits: JsonLimits): unknown {
  if (bytes.length < minLargeBody) return parseJson(bytes, limits)
  const parsed = settled(largeBodies)
    .then(nextTurn)
    .then(() => parseJson(bytes, limits))
  largeBodies = parsed.catch(() => {})
  return parsed
}

/** How long a body waits for earlier ones, in milliseconds: in a Worker, those of canceled requests never settle. */
const patience = 1_000

function settled(earlier: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patience)
    void earlier.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Not a microtask: those run before other requests are read. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}

/** Whether a `Content-Type` is one of the JSON types in use, in UTF-8. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === undefined) return false
  if (contentType === 'application/json') return true
  const [type = ''] = contentType.split(';', 1)
  return jsonTypes.has(type.trim().toLowerCase()) && isUtf8(contentType.slice(type.length))
}

/** The text is not acceptable JSON. The message is short and may be shown to the caller. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new JsonError('not valid UTF-8')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value === 'number' && !Number.isFinite(value)) throw tooLarge()
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((each) => isDeeper(each, depth - 1))
}

function tooLarge(): JsonError {
  return new JsonError('a number is too large for JSON: expected at most 1.7976931348623157e308')
}

function tooDeep(depth: number): JsonError {
  return new JsonError(`nested deeper than ${depth} levels`)
}

function tooMany(values: number): JsonError {
  return new JsonError(`more than ${values} values and names: send large data as a file, or in several messages`)
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Counts the members of all objects and limits depth and values. Validity is left to `JSON.parse`. */
function scan(text: string, depth: number, values: number): number {
  let level = 0
  let members = 0
  let left = values
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at + 1)
        break
      case COLON:
        members++
        if (--left < 0) throw tooMany(values)
        break
      case COMMA:
        if (--left < 0) throw tooMany(values)
        break
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++level > depth) throw tooDeep(depth)
        if (--left < 0) throw tooMany(values)
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        level--
        break
    }
  }
  return members
}

/** The position of the closing quote. `indexOf` scans megabytes of base64 at memory speed, but is slow for many matches. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start)
  if (quote < 0) return text.length
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote
  let at = quote
  while (at > start && text.charCodeAt(at - 1) === BACKSLASH) at--
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === BACKSLASH) at++
    else if (unit === QUOTE) return at
  }
  return text.length
}

/** Characters searched for the position of an error, so that a hostile body costs little more than a valid one. */
const maxSearched = 256 * 1024

const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y

/** All characters except control characters, quotes and backslashes. */
const plainCharacters = /[ !#-[\]-\uffff]*/y

const escapeSequence = /\\(?:["\\/bfnrt]|u[\da-fA-F]{4})/y

/**
 * Parses a text that is known to be invalid again, slowly, and throws the first error with its position, which engines
 * do not report reliably. Recursive, so the caller limits the depth beforehand.
 */
function throwFirstError(text: string): never {
  let at = 0
  const fail = (): never => {
    throw new JsonError(`not valid JSON at position ${at}`)
  }

  const skip = (pattern: RegExp): boolean => {
    if (at > maxSearched) throw new JsonError(`not valid JSON, or a duplicate key, after position ${maxSearched}`)
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
      if (keys.has(key)) throw new JsonError(`duplicate key ${excerpt(key)} at position ${start}`)
      keys.add(key)
      skipSpace()
      if (!take(':')) fail()
      value()
    })
  }
  const string = (): string => {
    const start = at
    if (!take('"')) fail()
    do skip(plainCharacters)
    while (skip(escapeSequence))
    if (!take('"')) fail()
    return text.slice(start, at)
  }

  value()
  return fail()
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09
}

function excerpt(key: string): string {
  return JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}…` : key)
}

/** Also rejects numbers that became infinite, which would be stored and sent as `null`. */
function countMembers(value: unknown): number {
  if (typeof value === 'number' && !Number.isFinite(value)) throw tooLarge()
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item)
  } else {
    for (const key of Object.keys(value)) members += 1 + countMembers((value as Record<string, unknown>)[key])
  }
  return members
}

const jsonTypes: ReadonlySet<string> = new Set(['application/json', 'application/a2a+json', 'application/json-rpc'])

const parameter = /;\s*([^\s;=]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;]*)/g

function isUtf8(parameters: string): boolean {
  for (const [, name = '', value = ''] of parameters.matchAll(parameter)) {
    if (name.toLowerCase() === 'charset' && !/^"?utf-?8"?$/i.test(value)) return false
  }
  return true
}
