import { isObject, type Json } from '../base/json.ts'
import { excerpt, type Schema, type SchemaNode, type StringRules, Violation, wrongType, wrongValue } from './schema.ts'

/**
 * A schema that also checks values without converting them, as the mesh needs: a signature covers the bytes as they
 * came. In contrast to `read`, `check` rejects unknown members, and strings and numbers that have no canonical form
 * (RFC 7493).
 */
export interface StrictSchema<T> extends Schema<T> {
  /** Returns the first violation. */
  check(value: unknown): Violation | undefined
}

/** Compiles the check once; it is the hot path of every message. */
export function strict<T>(schema: Schema<T>): StrictSchema<T> {
  return { ...schema, check: checkOf(schema) }
}

/** A strict schema with the name and description under which it is published. */
export function titled<T>(title: string, schema: Schema<T>, description: string): StrictSchema<T> {
  return { ...schema, check: checkOf(schema), node: { ...schema.node, title, description } }
}

/** Documents the value that an absent member stands for. */
export function withDefault<T extends Json>(schema: Schema<T>, value: T): Schema<T> {
  return { ...schema, node: { ...schema.node, default: value } }
}

export interface NumberRules {
  readonly min: number
  readonly max?: number
  readonly integer?: boolean
}

export function number({ min, max = Infinity, integer = false }: NumberRules): Schema<number> {
  const node = { is: integer ? 'integer' : 'number', min, max } as const
  return { ...throwing(numberCheck(node)), node }
}

export function nullValue(): Schema<null> {
  return { ...throwing(nullCheck), node: { is: 'null' }, takesNull: true }
}

export function nullable<T>(schema: Schema<T>): Schema<T | null> {
  return {
    read: (value) => (value === null ? null : schema.read(value)),
    node: { is: 'nullable', of: schema },
    takesNull: true,
  }
}

type Check = (value: unknown) => Violation | undefined

type NodeOf<K extends SchemaNode['is']> = Extract<SchemaNode, { readonly is: K }>

function throwing<T>(check: Check): Pick<Schema<T>, 'read'> {
  return {
    read(value) {
      const violation = check(value)
      if (violation !== undefined) throw violation
      return value as T
    },
  }
}

function checkOf(schema: Schema<unknown> | StrictSchema<unknown>): Check {
  if ('check' in schema) return schema.check
  const { node } = schema
  switch (node.is) {
    case 'string':
      return stringCheck(node)
    case 'boolean':
      return booleanCheck(node)
    case 'null':
      return nullCheck
    case 'enum':
      return enumCheck(node)
    case 'integer':
    case 'number':
      return numberCheck(node)
    case 'json':
      return unreadable
    case 'object':
      return (value) => (isObject(value) ? unreadable(value) : wrongType('an object', value))
    case 'list':
      return listCheck(node)
    case 'members':
      return membersCheck(node)
    case 'union':
      return unionCheck(node)
    case 'nullable': {
      const check = checkOf(node.of)
      return (value) => (value === null ? undefined : check(value))
    }
    case 'base64':
    case 'timestamp':
    case 'map':
    case 'any':
    case 'tagged':
    case 'exclusive':
      throw new TypeError(`A ${node.is} schema cannot be checked without conversion.`)
  }
}

function stringCheck({ min = 0, max = Infinity, pattern, expected = 'a string' }: StringRules): Check {
  const regex = pattern === undefined ? undefined : new RegExp(pattern)
  const limits = max < Infinity ? `${min} to ${max}` : `${min} or more`
  return (value) => {
    if (typeof value !== 'string') return wrongType(expected, value)
    if (value.length < min || value.length > max || (min > 1 && value.length < 2 * min)) {
      const length = codePointsIn(value)
      if (length < min || length > max) return new Violation(`expected ${limits} characters, got ${length}`)
    }
    if (regex === undefined) return value.isWellFormed() ? undefined : new Violation('is not valid Unicode')
    return regex.test(value) ? undefined : wrongValue(expected, value)
  }
}

/** JSON Schema counts code points, JavaScript UTF-16 units. */
function codePointsIn(value: string): number {
  let length = 0
  for (const _ of value) length++
  return length
}

function booleanCheck({ only }: NodeOf<'boolean'>): Check {
  const expected = only === undefined ? 'true or false' : `${only}`
  return (value) => {
    const isValid = only === undefined ? typeof value === 'boolean' : value === only
    return isValid ? undefined : wrongType(expected, value)
  }
}

function nullCheck(value: unknown): Violation | undefined {
  return value === null ? undefined : wrongType('null', value)
}

function enumCheck({ values }: NodeOf<'enum'>): Check {
  const allowed: readonly unknown[] = values
  const expected = values.length === 1 ? excerpt(values[0] ?? '') : `one of ${values.join(', ')}`
  return (value) => (allowed.includes(value) ? undefined : wrongValue(expected, value))
}

function numberCheck({ is, min, max }: NodeOf<'integer' | 'number'>): Check {
  const isInteger = is === 'integer'
  const range = max < Infinity ? `from ${min} to ${max}` : `of ${min} or more`
  const expected = `${isInteger ? 'an integer' : 'a number'} ${range}`
  return (value) => {
    const isValid = isInteger ? Number.isInteger(value) : Number.isFinite(value)
    return isValid && (value as number) >= min && (value as number) <= max ? undefined : wrongValue(expected, value)
  }
}

function listCheck({ item, min = 0, max = Infinity }: NodeOf<'list'>): Check {
  const check = checkOf(item)
  const limits = max < Infinity ? `${min} to ${max}` : `${min} or more`
  return (value) => {
    if (!Array.isArray(value)) return wrongType('a list', value)
    if (value.length < min || value.length > max) return new Violation(`expected ${limits} items, got ${value.length}`)
    for (let at = 0; at < value.length; at++) {
      const violation = check(value[at])
      if (violation !== undefined) return within(violation, at)
    }
    return undefined
  }
}

function membersCheck({ members, choices, open }: NodeOf<'members'>): Check {
  if (choices.length > 0) throw new TypeError('An object with choices cannot be checked without conversion.')
  const checks: ReadonlyMap<string, { readonly check: Check; readonly isRequired: boolean }> = new Map(
    members.map(({ name, schema, isUnset }) => [name, { check: checkOf(schema), isRequired: isUnset === undefined }]),
  )
  const names = [...checks.keys()]
  const required = names.filter((name) => checks.get(name)?.isRequired)

  return (value) => {
    if (!isObject(value)) return wrongType('an object', value)
    let found = 0
    for (const name in value) {
      const member = checks.get(name)
      const content: Json | undefined = value[name]
      if (member === undefined) {
        if (!open) {
          return new Violation(`has an unknown member ${excerpt(name)}: it may have only ${names.join(', ')}`)
        }
        const violation = unreadable(name) ?? unreadable(content)
        if (violation !== undefined) return violation
      } else if (content !== undefined) {
        const violation = member.check(content)
        if (violation !== undefined) return within(violation, name)
        if (member.isRequired) found++
      }
    }
    if (found === required.length) return undefined
    const missing = required.find((name) => !Object.hasOwn(value, name) || value[name] === undefined)
    return within(new Violation('is required'), missing ?? '')
  }
}

function unionCheck({ tag, variants }: NodeOf<'union'>): Check {
  const checks = new Map(Object.entries(variants).map(([name, schema]) => [name, checkOf(schema)]))
  const expected = [...checks.keys()].join(' or ')
  return (value) => {
    if (!isObject(value)) return wrongType('an object', value)
    const check = Object.hasOwn(value, tag) ? checks.get(String(value[tag])) : undefined
    // The variant checks the tag again, and with it the type of the tag.
    return check ? check(value) : within(new Violation(`expected ${expected}`), tag)
  }
}

function within(violation: Violation, segment: string | number): Violation {
  violation.within(segment)
  return violation
}

/**
 * Values that another program cannot read or reads differently (RFC 7493): lone surrogates, and numbers beyond a
 * double. They have no canonical form and cannot be signed. The caller limits the depth beforehand.
 */
function unreadable(value: unknown): Violation | undefined {
  if (typeof value === 'string') {
    return value.isWellFormed() ? undefined : new Violation('has a string that is not valid Unicode')
  }
  if (typeof value === 'number') {
    return Number.isFinite(value) ? undefined : new Violation('has a number that is too great')
  }
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (const item of value) {
      const violation = unreadable(item)
      if (violation !== undefined) return violation
    }
    return undefined
  }
  for (const key in value) {
    const violation = unreadable(key) ?? unreadable((value as Readonly<Record<string, unknown>>)[key])
    if (violation !== undefined) return violation
  }
  return undefined
}
