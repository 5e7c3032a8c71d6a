import { defined, type Json, type JsonObject } from '../base/json.ts'
import {
  excerpt,
  type Infer,
  type Length,
  type Member,
  type Schema,
  type StringRules,
  Violation,
  withPath,
  wrongType,
  wrongValue,
} from './schema.ts'

/**
 * Schemas of values as JSON and ProtoJSON write them (https://protobuf.dev/programming-guides/json/). Versions before 1.0
 * have no proto, but their readers accept the same.
 */

const rfc3339 = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

export function string(rules: StringRules = {}): Schema<string> {
  const { min = 0, max = Infinity, expected = `a string${lengthText(rules, 'characters')}` } = rules
  const pattern = rules.pattern === undefined ? undefined : new RegExp(rules.pattern)
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType(expected, value)
      if (value.length < min || value.length > max) throw wrongLength(expected, value.length)
      if (pattern !== undefined && !pattern.test(value)) throw wrongValue(expected, value)
      return value
    },
    node: { is: 'string', ...rules },
    isDefault: (value) => value === '',
  }
}

/** `true` or `false`, or only one of them. */
export function boolean<const B extends boolean = boolean>(only?: B): Schema<B> {
  const expected = only === undefined ? 'true or false' : `${only}`
  return {
    read(value) {
      if (typeof value !== 'boolean' || (only !== undefined && value !== only)) throw wrongType(expected, value)
      return value as B
    },
    node: defined({ is: 'boolean', only }),
    isDefault: (value) => value === false,
  }
}

/** Any JSON value, unchanged. */
export function json(): Schema<Json> {
  return {
    read(value) {
      if (value === undefined) throw wrongType('a JSON value', value)
      return value as Json
    },
    node: { is: 'json' },
    takesNull: true,
  }
}

/** Any JSON object, unchanged. */
export function struct(): Schema<JsonObject> {
  return { read: readObject, node: { is: 'object' } }
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
        throw withPath(error, items.length)
      }
      return items
    },
    node: { is: 'list', item, ...length },
    isDefault: (value) => Array.isArray(value) && value.length === 0,
  }
}

/** An object whose writer chooses the member names. */
export function map<T>(item: Schema<T>): Schema<{ readonly [key: string]: T }> {
  const read = ([key, value]: [string, unknown]): [string, T] => {
    try {
      return [key, item.read(value)]
    } catch (error) {
      throw withPath(error, `[${excerpt(key)}]`)
    }
  }
  return {
    read: (value) => Object.fromEntries(Object.entries(readObject(value)).map(read)),
    node: { is: 'map', item },
  }
}

/** Adds a hint to a violation of this very value: what its writer may have meant. */
export function withHint<T>(schema: Schema<T>, hint: (value: unknown) => string | undefined): Schema<T> {
  return {
    ...schema,
    read(value) {
      try {
        return schema.read(value)
      } catch (error) {
        if (!(error instanceof Violation) || error.path !== '') throw error
        const text = hint(value)
        throw text === undefined ? error : new Violation(`${error.message}; ${text}`)
      }
    },
  }
}

/** A member that may be absent. */
export interface OptionalField<T> {
  readonly schema: Schema<T>
  /** Whether the member, although present, counts as absent. */
  isUnset(value: unknown): boolean
  readonly isImplicit?: boolean
}

/** `null` counts as absent. */
export function optional<T>(schema: Schema<T>): OptionalField<T> {
  return { schema, isUnset: (value) => value === null && !schema.takesNull }
}

/** A proto3 field with implicit presence: the default of its type counts as absent (`""`, 0, false, `[]`). */
export function implicit<T>(schema: Schema<T>): OptionalField<T> {
  return { schema, isUnset: (value) => value === null || schema.isDefault?.(value) === true, isImplicit: true }
}

/** A required member that ProtoJSON writers leave out when it is empty; it is read as `fallback` then. */
export function defaultsTo<T>(schema: Schema<T>, fallback: T): Schema<T> {
  return { ...schema, read: (value) => (value === undefined || value === null ? fallback : schema.read(value)) }
}

export type Fields = Readonly<Record<string, Schema<unknown> | OptionalField<unknown>>>

/** Reads each member also in the snake_case of the proto file, and ignores unknown members. */
export function object<F extends Fields>(fields: F, options?: { readonly open?: boolean }): Schema<ObjectOf<F>>

/** Requires exactly one of the members in `oneOf` besides the fields. */
export function object<F extends Fields, C extends Choices>(
  fields: F,
  options: { readonly oneOf: C },
): Schema<ObjectOf<F> & OneOf<C>>

export function object(fields: Fields, { oneOf = {}, open = false }: ObjectOptions = {}): Schema<unknown> {
  const members = Object.entries(fields).map(([name, field]) => toMember(name, field))
  const choices = Object.entries(oneOf).map(([name, schema]) => toMember(name, optional(schema)))
  const hasChoice = choices.length > 0
  return {
    read(value) {
      const source = readObject(value)
      const target: Record<string, unknown> = {}
      for (const member of members) readInto(target, source, member)
      if (!hasChoice) return target
      const chosen: string[] = []
      for (const member of choices) if (readInto(target, source, member)) chosen.push(member.name)
      if (chosen.length !== 1) throw notOne(choices, chosen)
      return target
    },
    node: { is: 'members', members, choices, open },
  }
}

export function readObject(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType('an object', value)
  return value as JsonObject
}

export interface Range {
  readonly min?: number
  readonly max?: number
}

/** A number, or its decimal string. */
export function int32({ min = -(2 ** 31), max = 2 ** 31 - 1 }: Range = {}): Schema<number> {
  return {
    read(value) {
      const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
        throw wrongValue(`an integer from ${min} to ${max}`, value)
      }
      return number
    },
    node: { is: 'integer', min, max },
    isDefault: (value) => value === 0 || value === '0',
  }
}

/** An integer that ProtoJSON writes as text. Only those that a number can hold exactly are accepted. */
export function int64({ min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER }: Range = {}): Schema<number> {
  const { read } = int32({ min, max })
  return {
    read: (value) => read(typeof value === 'string' && /^-?\d{1,16}$/.test(value) ? Number(value) : value),
    node: { is: 'integer', min, max },
    isDefault: (value) => value === 0 || value === '0',
  }
}

export interface ProtoEnum<T extends string> extends Schema<T> {
  /** The name of each value on the wire. */
  readonly names: Readonly<Record<T, string>>
  /** The name of 0 on the wire. */
  readonly unspecified: string
}

/**
 * A name or its number. `names` lists the values in the order of their numbers from 1; 0 is `unspecified`, not a value.
 */
export function protoEnum<T extends string>(unspecified: string, names: Readonly<Record<T, string>>): ProtoEnum<T> {
  const values = Object.keys(names) as T[]
  const wireNames = values.map((value) => names[value])
  const byWire = new Map<unknown, T>()
  for (const [index, value] of values.entries()) byWire.set(names[value], value).set(index + 1, value)
  return {
    read(wire) {
      const value = byWire.get(wire)
      if (value === undefined) throw wrongValue(`one of ${wireNames.join(', ')}`, wire)
      return value
    },
    node: { is: 'enum', values: wireNames },
    isDefault: (value) => value === 0 || value === unspecified,
    names,
    unspecified,
  }
}

/** Base64, standard or URL-safe, with or without padding. Read as standard base64 with padding. */
export function bytes(): Schema<string> {
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType('base64', value)
      // One linear pass, because the text may have millions of characters.
      const end = value.search(/[^A-Za-z0-9+/_-]/)
      const unpadded = end === -1 ? value : value.slice(0, end)
      const padding = value.slice(unpadded.length)
      if (padding !== '' && !(value.length % 4 === 0 && /^={1,2}$/.test(padding))) {
        throw new Violation(`expected base64, got something else at character ${unpadded.length + 1}`)
      }
      const excess = unpadded.length % 4
      if (excess === 1) throw new Violation('expected base64, got a character too few or too many')
      const digits = unpadded.includes('-') || unpadded.includes('_') ? toStandardAlphabet(unpadded) : unpadded
      // Encoding the last group again adds its padding and clears unused bits.
      const lastGroup = digits.length - excess
      return digits.slice(0, lastGroup) + btoa(atob(digits.slice(lastGroup)))
    },
    node: { is: 'base64' },
  }
}

export interface TimestampOptions {
  /** The zone of a time that has none. Without this option such a time is a violation, as in protobuf. */
  readonly zone?: 'Z'
}

/** An RFC 3339 time. Read as UTC with milliseconds. */
export function timestamp({ zone }: TimestampOptions = {}): Schema<string> {
  const expected = 'a time such as 2026-05-01T08:00:00.000Z'
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType(expected, value)
      const zoned = zone === undefined || /(?:Z|[+-]\d\d:\d\d)$/.test(value) ? value : value + zone
      const day = rfc3339.exec(zoned)?.[1]
      const moment = day === undefined ? Number.NaN : Date.parse(zoned)
      if (Number.isNaN(moment) || !isDay(day)) throw wrongValue(expected, value)
      const text = new Date(moment).toISOString()
      // An offset can move a time beyond years of four digits.
      if (!/^\d{4}-/.test(text)) throw wrongValue(expected, value)
      return text
    },
    node: { is: 'timestamp' },
  }
}

function lengthText({ min = 0, max }: Length, unit: string): string {
  if (max !== undefined) return ` of ${min} to ${max} ${unit}`
  return min > 0 ? ` of ${min} or more ${unit}` : ''
}

function wrongLength(expected: string, length: number): Violation {
  return new Violation(`expected ${expected}, got ${length}`)
}

type ObjectOf<F> = { readonly [K in RequiredKeys<F>]: Infer<F[K]> } & {
  readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: F[K] extends OptionalField<infer T> ? T : never
}

type RequiredKeys<F> = { [K in keyof F]: F[K] extends Schema<unknown> ? K : never }[keyof F]

type Choices = Readonly<Record<string, Schema<unknown>>>

type OneOf<C> = { [K in keyof C]: { readonly [P in K]: Infer<C[P]> } }[keyof C]

interface ObjectOptions {
  readonly oneOf?: Choices
  readonly open?: boolean
}

function toMember(name: string, field: Schema<unknown> | OptionalField<unknown>): Member {
  const snakeCase = name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`)
  const protoName = snakeCase === name ? undefined : snakeCase
  const {
    schema,
    isUnset,
    isImplicit = false,
  }: Partial<OptionalField<unknown>> & Pick<Member, 'schema'> = 'schema' in field ? field : { schema: field }
  return { name, protoName, schema, isUnset, isImplicit }
}

/** Returns whether the member is set. */
function readInto(
  target: Record<string, unknown>,
  source: Source,
  { name, protoName, schema, isUnset }: Member,
): boolean {
  const value = protoName === undefined ? source[name] : oneSpelling(source, name, protoName)
  if (isUnset !== undefined && (value === undefined || isUnset(value))) return false
  try {
    target[name] = schema.read(value)
  } catch (error) {
    throw withPath(error, name)
  }
  return true
}

type Source = Readonly<Record<string, unknown>>

function oneSpelling(source: Source, name: string, protoName: string): unknown {
  const value = source[name]
  const protoValue = source[protoName]
  if (protoValue === undefined) return value
  if (value !== undefined) throw new Violation(`expected one spelling of a member, got ${name} and ${protoName}`)
  return protoValue
}

function notOne(choices: readonly Member[], chosen: readonly string[]): Violation {
  const names = choices.map(({ name }) => name).join(', ')
  return new Violation(`expected exactly one of ${names}, got ${chosen.join(' and ') || 'none of them'}`)
}

/** Works on bytes: string replacement is a hundred times slower when every other character changes. */
function toStandardAlphabet(digits: string): string {
  const codes = new TextEncoder().encode(digits)
  for (let at = 0; at < codes.length; at++) {
    if (codes[at] === 0x2d) codes[at] = 0x2b
    else if (codes[at] === 0x5f) codes[at] = 0x2f
  }
  return new TextDecoder().decode(codes)
}

/** `Date` reads 30 February as 2 March. */
function isDay(day: string | undefined): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day
}
