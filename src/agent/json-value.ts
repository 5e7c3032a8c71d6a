import type { Json } from '../protocol/model.ts'

/**
 * A copy of the value as JSON would bring it back, so that it makes no difference whether it was stored meanwhile.
 * Throws for what JSON cannot hold, naming the place.
 */
export function toJson(value: unknown, what: string): Json | undefined {
  if (value === undefined) return undefined
  return copy(value, what, [])
}

function copy(value: unknown, place: string, within: readonly object[]): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object' || value === null) throw notJson(place, describe(value))
  if (within.includes(value)) throw notJson(place, 'a value that contains itself')
  const inside = [...within, value]
  if (Array.isArray(value)) return value.map((each, index) => copy(each, `${place}[${index}]`, inside))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(place, describe(value))
  const members: Record<string, Json> = {}
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members[key] = copy(member, `${place}.${key}`, inside)
  }
  return members
}

function describe(value: unknown): string {
  if (typeof value === 'object') return `a ${value?.constructor?.name ?? 'object'}`
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value)
}

function notJson(place: string, came: string): TypeError {
  return new TypeError(
    `${place}: expected a value that JSON can hold, got ${came}. Return plain objects, lists and texts.`,
  )
}
