/** What is wrong with a text that should have been JSON. The message is short and fit to be shown to the caller. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
}

export interface JsonLimits {
  /** How many arrays and objects may lie in each other. */
  readonly depth?: number
}

/** Like `JSON.parse`, but refuses what hurts those who walk the value later: deep nesting. */
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

export function tooDeep(depth: number): JsonError {
  return new JsonError(`nested deeper than ${depth} levels`)
}

function isDeeper(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some((each) => isDeeper(each, depth - 1))
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new JsonError('not valid UTF-8')
  }
}
