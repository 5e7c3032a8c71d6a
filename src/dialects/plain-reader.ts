import type { JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'

/** What few ask for is read by the whole reader. */
export const seldomAsked = {
  listTasks: unusual,
  createPushConfig: unusual,
  getPushConfig: unusual,
  listPushConfigs: unusual,
}

export const text = plain((value) => typeof value === 'string')

export const flag = plain((value) => typeof value === 'boolean')

/**
 * Reads what is written in the one usual way, and refuses all else without a word: whoever refuses it has a shape
 * (`shape.ts`) that reads also the rest, or tells what is wrong. Made to be small, for the first load of a page.
 */
export type Plain<T> = (value: unknown) => T

export const struct: Plain<JsonObject> = plain(isObject)

export const filled = plain((value): value is string => typeof value === 'string' && value !== '')

/** Of few letters: what others an id may have, the shape knows. */
export const id = plain((value): value is string => typeof value === 'string' && /^[!-~]{1,256}$/.test(value))

/** The rest of the text may have millions of characters, and must be full quantums. */
export const base64 = plain((value): value is string => {
  if (typeof value !== 'string' || value.length % 4 !== 0) return false
  const end = value.slice(-4)
  return !/[^A-Za-z0-9+/]/.test(value.slice(0, -4)) && btoa(atob(end)) === end
})

/** With milliseconds, in UTC. */
export function moment(value: unknown): string {
  if (typeof value !== 'string' || !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(value)) return unusual()
  const read = new Date(value).toISOString()
  // There may be no such day.
  return read.slice(0, 19) === value.slice(0, 19) ? read : unusual()
}

/** By how it is written. */
export function wordOf<W extends string>(names: Readonly<Record<W, string>>): Plain<W> {
  const words = new Map<unknown, W>()
  for (const word in names) words.set(names[word], word)
  return (value) => words.get(value) ?? unusual()
}

/** One that is not there is empty. */
export function list<T>(item: Plain<T>): Plain<readonly T[]> {
  return (value = []) => (Array.isArray(value) ? value.map(item) : unusual())
}

/** For what a plain reader does not read. */
export function unusual(): never {
  throw new Error('It is written in another way than usual.')
}

/** An object with these members, of which the optional ones are left out if they say nothing. */
export function members<R extends Readers, O extends Readers>(
  required: R,
  optional: O,
): Plain<Required<R> & Optional<O>>

export function members(required: Readers, optional: Readers): Plain<unknown> {
  const all = Object.entries({ ...required, ...optional })
  return (value) => {
    const source = usualObject(value)
    const target: Record<string, unknown> = {}
    for (const [name, read] of all) {
      const given = source[name]
      if (!(name in optional && saysNothing(given))) target[name] = read(given)
    }
    return target
  }
}

/** An object with exactly one of these. */
export function oneOf<R extends Readers>(readers: R): Plain<OneOf<R>>

export function oneOf(readers: Readers): Plain<unknown> {
  const all = Object.entries(readers)
  return (value) => {
    const source = usualObject(value)
    const [[name, read] = unusual(), ...others] = all.filter(([name]) => source[name] !== undefined)
    return others.length === 0 ? { [name]: read(source[name]) } : unusual()
  }
}

function plain<T>(is: (value: unknown) => value is T): Plain<T> {
  return (value) => (is(value) ? value : unusual())
}

type Readers = Readonly<Record<string, Plain<unknown>>>

type Required<R extends Readers> = { readonly [K in keyof R]: ReturnType<R[K]> }

type Optional<R extends Readers> = { readonly [K in keyof R]?: ReturnType<R[K]> }

/** Names in snake_case are those of the proto. */
function usualObject(value: unknown): JsonObject {
  return isObject(value) && !Object.keys(value).some((name) => name.includes('_')) ? value : unusual()
}

function saysNothing(value: unknown): boolean {
  return value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
}

type OneOf<R extends Readers> = { [K in keyof R]: { readonly [P in K]: ReturnType<R[P]> } }[keyof R]
