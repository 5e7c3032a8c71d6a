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
  scan(text, depth)
  try {
    return JSON.parse(text)
  } catch {
    throw new JsonError('not valid JSON')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

export function decodeUtf8(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes)
  } catch {
    throw new JsonError('not valid UTF-8')
  }
}

const QUOTE = 0x22
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Counts the members of all objects and guards the depth. Whether the text is JSON is for `JSON.parse` to say. */
export function scan(text: string, depth: number): number {
  let level = 0
  let members = 0
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = endOfString(text, at + 1)
        break
      case COLON:
        members++
        break
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++level > depth) throw new JsonError(`nested deeper than ${depth} levels`)
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        level--
        break
    }
  }
  return members
}

/** The position of the closing quote. `indexOf` runs over megabytes of base64 at the speed of memory. */
function endOfString(text: string, start: number): number {
  for (let from = start; ; ) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return text.length
    let run = quote
    while (run > start && text.charCodeAt(run - 1) === BACKSLASH) run--
    // An odd run of backslashes escapes the quote.
    if ((quote - run) % 2 === 0) return quote
    from = quote + 1
  }
}
