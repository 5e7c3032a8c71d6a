/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject

/** A JSON object. */
export interface JsonObject {
  readonly [key: string]: Json
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** An object without its undefined members: those that may be undefined become optional. */
export type Defined<T> = {
  [K in keyof T as string extends K ? K : undefined extends T[K] ? never : K]: Exclude<T[K], undefined>
} & {
  [K in keyof T as string extends K ? never : undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>
}

/**
 * Builds an object with optional members: undefined members are left out, so that it is written, compared and listed
 * without them: `defined({ id, name: undefined })` is `{ id }`.
 */
export function defined<const T extends object>(members: T): Defined<T> {
  const object: Record<string, unknown> = {}
  for (const name in members) if (members[name] !== undefined) object[name] = members[name]
  return object as Defined<T>
}

/** Whether two values are the same JSON. The order of members and undefined members do not matter. */
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
 * Copies a value as if it were written as JSON and read again, so that stored and live values are alike. Throws a
 * `TypeError` with the path of a value that JSON cannot represent.
 */
export function toJson(value: unknown, name: string): Json | undefined {
  return value === undefined ? undefined : copy(value, name, undefined)
}

function membersOf(value: object): ReadonlyMap<string, unknown> {
  return new Map(Object.entries(value).filter(([, member]) => member !== undefined))
}

function copy(value: unknown, key: string | number, parent: Position | undefined): Json {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isFinite(value)) return value
  if (typeof value !== 'object') throw notJson(key, parent, describe(value))
  for (let position = parent; position; position = position.parent) {
    if (position.value === value) throw notJson(key, parent, 'a value that contains itself')
  }
  const position = { value, key, parent }
  if (Array.isArray(value)) return value.map((item, index) => copy(item, index, position))
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) throw notJson(key, parent, describe(value))
  const members: Record<string, Json> = {}
  for (const name of Object.keys(value)) {
    const member: unknown = value[name as keyof typeof value]
    if (member !== undefined) members[name] = copy(member, name, position)
  }
  return members
}

/** The containers of a value, innermost first. The path is built only for an error. */
interface Position {
  readonly value: object
  readonly key: string | number
  readonly parent: Position | undefined
}

function notJson(key: string | number, parent: Position | undefined, actual: string): TypeError {
  return new TypeError(
    `${pathOf(key, parent)}: expected a value that JSON can hold, got ${actual}. Return plain objects, lists and texts.`,
  )
}

function pathOf(key: string | number, parent: Position | undefined): string {
  if (!parent) return `${key}`
  const outer = pathOf(parent.key, parent.parent)
  return typeof key === 'number' ? `${outer}[${key}]` : `${outer}.${key}`
}

function describe(value: unknown): string {
  if (typeof value === 'object') return `a ${value?.constructor?.name ?? 'object'}`
  return typeof value === 'function' || typeof value === 'symbol' ? `a ${typeof value}` : String(value)
}
