import { throwFault } from './json-fault.ts'
import { decodeUtf8, type JsonLimits, tooDeep } from './json-text.ts'

/**
 * Like `JSON.parse` on UTF-8 bytes, but refuses what two readers may understand differently (a key that comes twice,
 * broken UTF-8) and what hurts those who walk the value later (deep nesting).
 */
export function parseJson(bytes: Uint8Array, { depth = 64 }: JsonLimits = {}): unknown {
  const text = decodeUtf8(bytes)
  const members = scan(text, depth)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throwFault(text)
  }
  // Of two members with the same key `JSON.parse` keeps one, so a value with fewer members than its text had two.
  if (countMembers(value) !== members) throwFault(text)
  return value
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += countMembers(item)
  } else {
    for (const key of Object.keys(value)) members += 1 + countMembers((value as Record<string, unknown>)[key])
  }
  return members
}

const QUOTE = 0x22
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Counts the members of all objects and guards the depth. Whether the text is JSON is for `JSON.parse` to say. */
function scan(text: string, depth: number): number {
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
        if (++level > depth) throw tooDeep(depth)
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
