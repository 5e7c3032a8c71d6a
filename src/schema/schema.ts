import type { Json, JsonObject } from '../base/json.ts'

/** As `wrongType`, but for a word, a number or a time, which is told if it is one. */
export function wrongValue(expected: string, value: unknown): Violation {
  if (typeof value === 'string') return new Violation(`expected ${expected}, got ${excerpt(value)}`)
  if (typeof value === 'number') return new Violation(`expected ${expected}, got ${value}`)
  return wrongType(expected, value)
}

export interface Length {
  readonly min?: number
  readonly max?: number
}

/** A member of an object. */
export interface Member {
  readonly name: string
  /** If it is spelled differently in the proto. */
  readonly protoName: string | undefined
  readonly shape: Schema<unknown>
  /** Whether the value says nothing; a required member has no such thing. */
  readonly isUnset: ((value: unknown) => boolean) | undefined
  /** It is left out if it has the default of its type. */
  readonly isImplicit: boolean
}

/** What a shape is made of, as data. */
export type SchemaNode =
  | ({ readonly is: 'text'; readonly pattern?: string } & Length)
  | { readonly is: 'boolean' | 'json' | 'object' | 'base64' | 'time' }
  | { readonly is: 'integer'; readonly min: number; readonly max: number }
  | { readonly is: 'word'; readonly words: readonly string[] }
  | ({ readonly is: 'list'; readonly item: Schema<unknown> } & Length)
  | { readonly is: 'map'; readonly item: Schema<unknown> }
  | { readonly is: 'members'; readonly members: readonly Member[]; readonly choices: readonly Member[] }
  | { readonly is: 'any'; readonly of: readonly Schema<unknown>[] }
  | { readonly is: 'tagged'; readonly tag: string; readonly variants: Readonly<Record<string, Schema<unknown>>> }
  /** At most one of these members is there. */
  | { readonly is: 'exclusive'; readonly of: Schema<unknown>; readonly names: readonly string[] }

/**
 * What a value on the wire looks like: one description from which come the reader, the TypeScript type (`TypeOf`) and
 * the form, of which tests make a JSON Schema. Reading also normalises, so it accepts more spellings than the form, which
 * tells the one we write.
 */
export interface Schema<T> {
  /** Throws a `Violation`. */
  read(value: unknown): T
  readonly form: SchemaNode
  /** Whether the value is what proto3 takes for "not set". */
  isDefault?(value: unknown): boolean
  /** `null` is a value here; anywhere else it means that a field is not set. */
  readonly takesNull?: true
}

export function string(length: Length = {}): Schema<string> {
  const { min = 0, max = Infinity } = length
  const expected = `a string${lengthText(length, 'characters')}`
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType(expected, value)
      if (value.length < min || value.length > max) throw wrongLength(expected, value.length)
      return value
    },
    form: { is: 'text', ...length },
    isDefault: (value) => value === '',
  }
}

export function boolean(): Schema<boolean> {
  return {
    read(value) {
      if (typeof value !== 'boolean') throw wrongType('true or false', value)
      return value
    },
    form: { is: 'boolean' },
    isDefault: (value) => value === false,
  }
}

/** Any JSON value, unread. */
export function json(): Schema<Json> {
  return {
    read(value) {
      if (value === undefined) throw wrongType('a JSON value', value)
      return value as Json
    },
    form: { is: 'json' },
    takesNull: true,
  }
}

/** Any JSON object, unread. */
export function struct(): Schema<JsonObject> {
  return { read: readObject, form: { is: 'object' } }
}

export function list<T>(item: Schema<T>, length: Length = {}): Schema<readonly T[]> {
  const { min = 0, max = Infinity } = length
  const expected = `a list${lengthText(length, 'items')}`
  return {
    read(value) {
      if (!Array.isArray(value)) throw wrongType(expected, value)
      if (value.length < min || value.length > max) throw wrongLength(expected, value.length)
      const items: T[] = []
      try {
        for (const element of value) items.push(item.read(element))
      } catch (error) {
        throw placed(error, items.length)
      }
      return items
    },
    form: { is: 'list', item, ...length },
    isDefault: (value) => Array.isArray(value) && value.length === 0,
  }
}

/** An object whose members are named by its writer. */
export function map<T>(item: Schema<T>): Schema<{ readonly [key: string]: T }> {
  const read = ([key, value]: [string, unknown]): [string, T] => {
    try {
      return [key, item.read(value)]
    } catch (error) {
      throw placed(error, `[${excerpt(key)}]`)
    }
  }
  return {
    read: (value) => Object.fromEntries(Object.entries(readObject(value)).map(read)),
    form: { is: 'map', item },
  }
}

/** Adds to a violation at this very value what its writer may have meant. */
export function hinted<T>(shape: Schema<T>, hint: (value: unknown) => string | undefined): Schema<T> {
  return {
    ...shape,
    read(value) {
      try {
        return shape.read(value)
      } catch (error) {
        if (!(error instanceof Violation) || error.path !== '') throw error
        const meant = hint(value)
        throw meant === undefined ? error : new Violation(`${error.message}; ${meant}`)
      }
    },
  }
}

/** The value as the shape reads it, or nothing if it is something else. */
export function fitting<T>(shape: Schema<T>, value: unknown): T | undefined {
  try {
    return shape.read(value)
  } catch (error) {
    if (error instanceof Violation) return undefined
    throw error
  }
}

/** A value that is not of its shape. Its path grows on the way out, so that well-formed input pays nothing for it. */
export class Violation extends Error {
  override readonly name = 'Violation'
  #path = ''

  get path(): string {
    return this.#path
  }

  /** The value lies in this member, or at this index, of another one. */
  within(segment: string | number): void {
    const step = typeof segment === 'number' ? `[${segment}]` : segment
    this.#path = this.#path === '' || this.#path.startsWith('[') ? step + this.#path : `${step}.${this.#path}`
  }
}

/** The start of a caller's text, safe to print. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text)
}

/** The value is of another type. Only the type is told: the value may be large or secret. */
export function wrongType(expected: string, value: unknown): Violation {
  return new Violation(`expected ${expected}, got ${typeNameOf(value)}`)
}

export function readObject(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType('an object', value)
  return value as JsonObject
}

/** The error again, and if it is a violation, with where it happened. */
export function placed(error: unknown, segment: string | number): unknown {
  if (error instanceof Violation) error.within(segment)
  return error
}

export type Infer<S> = S extends Schema<infer T> ? T : never

function typeNameOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function lengthText({ min = 0, max }: Length, unit: string): string {
  if (max !== undefined) return ` of ${min} to ${max} ${unit}`
  return min > 0 ? ` of ${min} or more ${unit}` : ''
}

function wrongLength(expected: string, length: number): Violation {
  return new Violation(`expected ${expected}, got ${length}`)
}
