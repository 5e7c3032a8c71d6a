import type { Json, JsonObject } from '../protocol/model.ts'
import { excerpt, placed, Violation, wrongType } from './violation.ts'

/**
 * What a value on the wire looks like: one description from which come the reader, the TypeScript type (`TypeOf`) and
 * the JSON Schema. Reading also normalises, so it accepts more spellings than the schema, which tells the one we write.
 */
export interface Shape<T> {
  /** Throws a `Violation`. */
  read(value: unknown): T
  readonly schema: JsonObject
  /** Whether the value is what proto3 takes for "not set". */
  isDefault?(value: unknown): boolean
  /** `null` is a value here; anywhere else it means that a field is not set. */
  readonly takesNull?: true
}

export type TypeOf<S> = S extends Shape<infer T> ? T : never

export interface Length {
  readonly min?: number
  readonly max?: number
}

export function string(length: Length = {}): Shape<string> {
  const { min = 0, max = Infinity } = length
  const expected = `a string${lengthText(length, 'characters')}`
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType(expected, value)
      if (value.length < min || value.length > max) throw wrongLength(expected, value.length)
      return value
    },
    schema: { type: 'string', ...(min > 0 && { minLength: min }), ...(max < Infinity && { maxLength: max }) },
    isDefault: (value) => value === '',
  }
}

export function boolean(): Shape<boolean> {
  return {
    read(value) {
      if (typeof value !== 'boolean') throw wrongType('true or false', value)
      return value
    },
    schema: { type: 'boolean' },
    isDefault: (value) => value === false,
  }
}

/** Any JSON value, unread. */
export function json(): Shape<Json> {
  return {
    read(value) {
      if (value === undefined) throw wrongType('a JSON value', value)
      return value as Json
    },
    schema: {},
    takesNull: true,
  }
}

/** Any JSON object, unread. */
export function struct(): Shape<JsonObject> {
  return { read: readObject, schema: { type: 'object' } }
}

export function list<T>(item: Shape<T>, length: Length = {}): Shape<readonly T[]> {
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
    schema: {
      type: 'array',
      items: item.schema,
      ...(min > 0 && { minItems: min }),
      ...(max < Infinity && { maxItems: max }),
    },
    isDefault: (value) => Array.isArray(value) && value.length === 0,
  }
}

/** An object whose members are named by its writer. */
export function map<T>(item: Shape<T>): Shape<{ readonly [key: string]: T }> {
  const read = ([key, value]: [string, unknown]): [string, T] => {
    try {
      return [key, item.read(value)]
    } catch (error) {
      throw placed(error, `[${excerpt(key)}]`)
    }
  }
  return {
    read: (value) => Object.fromEntries(Object.entries(readObject(value)).map(read)),
    schema: { type: 'object', additionalProperties: item.schema },
  }
}

/** Adds to a violation at this very value what its writer may have meant. */
export function hinted<T>(shape: Shape<T>, hint: (value: unknown) => string | undefined): Shape<T> {
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

export function readObject(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType('an object', value)
  return value as JsonObject
}

function wrongLength(expected: string, length: number): Violation {
  return new Violation(`expected ${expected}, got ${length}`)
}

function lengthText({ min = 0, max }: Length, unit: string): string {
  if (max !== undefined) return ` of ${min} to ${max} ${unit}`
  return min > 0 ? ` of ${min} or more ${unit}` : ''
}
