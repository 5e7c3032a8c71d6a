import { throwFault } from './json-fault.ts'
import { decodeUtf8, type JsonLimits, scan } from './json-text.ts'

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
