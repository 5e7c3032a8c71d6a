import type { Json, JsonObject } from '../base/json.ts'
import {
  excerpt,
  type Infer,
  type Length,
  type Member,
  type Schema,
  type StringRules,
  type Variants,
  Violation,
  withPath,
  wrongType,
  wrongValue,
} from './schema.ts'

/** Schemas of the values of JSON. */

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
    node: { is: 'boolean', ...(only !== undefined && { only }) },
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

/** Absent also when `null`. */
export function optional<T>(schema: Schema<T>): OptionalField<T> {
  return { schema, isUnset: (value) => value === null && !schema.takesNull }
}

/** A proto3 field with implicit presence: absent also when it has the default of its type (`""`, 0, false, `[]`). */
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

/** One of these strings. */
export function literal<const T extends string>(...values: readonly T[]): Schema<T> {
  const allowed: ReadonlySet<unknown> = new Set(values)
  const expected = values.length === 1 ? `"${values[0]}"` : `one of ${values.join(', ')}`
  return {
    read(value) {
      if (!allowed.has(value)) throw wrongValue(expected, value)
      return value as T
    },
    node: { is: 'enum', values },
  }
}

/** An object whose member `tag` is this literal. Reading drops the tag. */
export function taggedAs<T>(tag: string, name: string, schema: Schema<T>): Schema<T> {
  return {
    read(value) {
      const actual = readObject(value)[tag]
      if (actual !== name) throw wrongValue(`"${tag}" to be "${name}"`, actual)
      return schema.read(value)
    },
    node: { is: 'tagged', tag, variants: { [name]: schema } },
  }
}

/** An object whose member `tag` selects a schema. Read as an object with one member, named like the tag. */
export function tagged<V extends Variants>(tag: string, variants: V): Schema<OneMember<V>> {
  const schemas: ReadonlyMap<unknown, Schema<unknown>> = new Map(Object.entries(variants))
  const expected = `"${tag}" to be one of ${Object.keys(variants).join(', ')}`
  return {
    read(value) {
      const name = readObject(value)[tag]
      const schema = schemas.get(name)
      if (schema === undefined) throw wrongValue(expected, name)
      return { [name as string]: schema.read(value) } as OneMember<V>
    },
    node: { is: 'tagged', tag, variants },
  }
}

/** An object whose member `tag`, as text, selects a schema. Each schema describes the tag as well. */
export function union<V extends Variants>(tag: string, variants: V): Schema<Infer<V[keyof V]>> {
  const schemas: ReadonlyMap<string, Schema<unknown>> = new Map(Object.entries(variants))
  const expected = `expected ${Object.keys(variants).join(' or ')}`
  return {
    read(value) {
      const schema = schemas.get(String(readObject(value)[tag]))
      if (schema === undefined) throw withPath(new Violation(expected), tag)
      return schema.read(value) as Infer<V[keyof V]>
    },
    node: { is: 'union', tag, variants },
  }
}

export function readObject(value: unknown): JsonObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongType('an object', value)
  return value as JsonObject
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
  const snakeCase = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const protoName = snakeCase === name ? undefined : snakeCase
  if (!('schema' in field)) return { name, protoName, schema: field, isUnset: undefined, isImplicit: false }
  const { schema, isUnset, isImplicit = false } = field
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

type OneMember<V> = { [K in keyof V]: { readonly [P in K]: Infer<V[P]> } }[keyof V]
