/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/**
 * Whether two values are the same once they are JSON: the order of members, and members without a value, say nothing.
 */
export function sameJson(one: unknown, other: unknown): boolean {
  if (one === other) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const [left, right] = [membersOf(one), membersOf(other)]
  return (
    left.size === right.size && [...left].every(([key, value]) => right.has(key) && sameJson(value, right.get(key)))
  )
}

/**
 * A copy of the value as JSON would bring it back, so that it makes no difference whether it was stored meanwhile.
 * Throws for what JSON cannot hold, naming the place.
 */
export function toJson(value: unknown, what: string): Json | undefined {
  return value === undefined ? undefined : copy(value, what, undefined)
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined))
}

function copy(value: unknown, key: string | number, within: Place | undefined): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw notJson(key, within, describe(value))
  for (let place = within; place; place = place.within) {
    if (place.of === value) throw notJson(key, within, 'a value that contains itself')
  }
  const inside = { of: value, key, within }
  if (Array.isArray(value)) return value.map((each, index) => copy(each, index, inside))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(key, within, describe(value))
  const members: Record<string, Json> = {}
  for (const name of Object.keys(value)) {
    const member: unknown = value[name as keyof typeof value]
    if (member !== undefined) members[name] = copy(member, name, inside)
  }
  return members
}

/** An object on the way to a value. Where a value is, is written out only if it must be told. */
interface Place {
  readonly of: object
  readonly key: string | number
  readonly within: Place | undefined
}

function notJson(key: string | number, within: Place | undefined, came: string): TypeError {
  return new TypeError(
    `${nameOf(key, within)}: expected a value that JSON can hold, got ${came}. Return plain objects, lists and texts.`,
  )
}

function nameOf(key: string | number, within: Place | undefined): string {
  if (!within) return `${key}`
  const outer = nameOf(within.key, within.within)
  return typeof key === 'number' ? `${outer}[${key}]` : `${outer}.${key}`
}

function describe(value: unknown): string {
  if (typeof value === 'object') return `a ${value?.constructor?.name ?? 'object'}`
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value)
}
