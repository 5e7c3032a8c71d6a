import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { excerpt, Violation, wrongType, wrongValue } from './schema.ts'

export interface TextRules {
  readonly min?: number
  readonly max?: number
  /** With `^` at its start and `$` at its end. */
  readonly pattern?: string
  readonly format?: string
  /** What the pattern stands for, for people. */
  readonly expected?: string
}

/**
 * What a value of the mesh must look like. In contrast to the shapes of `dialects/`, nothing is normalised and nothing
 * is forgiven: a form only says what is wrong, and the value is taken as it is, since its signature covers all of it.
 */
export interface StrictSchema<T> {
  /** The first thing that is wrong with the value. */
  check(value: unknown): Violation | undefined
  /** Draft-07. A `title` makes it a definition of its own in the published files. */
  readonly schema: JsonObject
  /** Never there: it carries the type. */
  readonly type?: T
}

export function text({
  min = 0,
  max = Infinity,
  pattern,
  format,
  expected = 'a string',
}: TextRules = {}): StrictSchema<string> {
  const form = pattern === undefined ? undefined : new RegExp(pattern)
  const limits = max < Infinity ? `${min} to ${max}` : `${min} or more`
  return {
    check(value) {
      if (typeof value !== 'string') return wrongType(expected, value)
      if (value.length < min || value.length > max || (min > 1 && value.length < 2 * min)) {
        const length = lengthOf(value)
        if (length < min || length > max) return new Violation(`expected ${limits} characters, got ${length}`)
      }
      if (form === undefined) return value.isWellFormed() ? undefined : new Violation('is not valid Unicode')
      return form.test(value) ? undefined : wrongValue(expected, value)
    },
    schema: {
      type: 'string',
      ...(min > 0 && { minLength: min }),
      ...(max < Infinity && { maxLength: max }),
      // Python's `$` also matches before a line break at the end.
      ...(pattern !== undefined && { pattern: `${pattern}(?!\\n)` }),
      ...(format !== undefined && { format }),
    },
  }
}

export function word<const W extends string>(...words: readonly W[]): StrictSchema<W> {
  const known: readonly unknown[] = words
  const expected = words.length === 1 ? excerpt(words[0] ?? '') : `one of ${words.join(', ')}`
  return {
    check: (value) => (known.includes(value) ? undefined : wrongValue(expected, value)),
    schema: words.length === 1 ? { const: words[0] ?? '' } : { type: 'string', enum: [...words] },
  }
}

export function flag<const B extends boolean = boolean>(only?: B): StrictSchema<B> {
  const expected = only === undefined ? 'true or false' : String(only)
  return {
    check(value) {
      const fits = only === undefined ? typeof value === 'boolean' : value === only
      return fits ? undefined : wrongType(expected, value)
    },
    schema: only === undefined ? { type: 'boolean' } : { const: only },
  }
}

export interface NumberRules {
  readonly min: number
  readonly max?: number
  readonly integer?: boolean
}

export function number({ min, max = Infinity, integer = false }: NumberRules): StrictSchema<number> {
  const range = max < Infinity ? `from ${min} to ${max}` : `of ${min} or more`
  const expected = `${integer ? 'an integer' : 'a number'} ${range}`
  return {
    check(value) {
      const fits = integer ? Number.isInteger(value) : Number.isFinite(value)
      return fits && (value as number) >= min && (value as number) <= max ? undefined : wrongValue(expected, value)
    },
    schema: { type: integer ? 'integer' : 'number', minimum: min, ...(max < Infinity && { maximum: max }) },
  }
}

export function list<T>(item: StrictSchema<T>, { min = 0, max = Infinity } = {}): StrictSchema<readonly T[]> {
  const limits = max < Infinity ? `${min} to ${max}` : `${min} or more`
  return {
    check(value) {
      if (!Array.isArray(value)) return wrongType('a list', value)
      if (value.length < min || value.length > max) {
        return new Violation(`expected ${limits} items, got ${value.length}`)
      }
      for (let at = 0; at < value.length; at++) {
        const fault = item.check(value[at])
        if (fault) return within(fault, at)
      }
      return undefined
    },
    schema: {
      type: 'array',
      items: item.schema,
      ...(min > 0 && { minItems: min }),
      ...(max < Infinity && { maxItems: max }),
    },
  }
}

/** Any object, of which only what every program can read is demanded. */
export function anyObject(): StrictSchema<JsonObject> {
  return {
    check(value) {
      if (!isObject(value)) return wrongType('an object', value)
      const unreadable = unreadableIn(value)
      return unreadable === undefined ? undefined : new Violation(unreadable)
    },
    schema: { type: 'object' },
  }
}

export function nothing(): StrictSchema<null> {
  return { check: (value) => (value === null ? undefined : wrongType('null', value)), schema: { type: 'null' } }
}

export function orNull<T>(form: StrictSchema<T>): StrictSchema<T | null> {
  return {
    check: (value) => (value === null ? undefined : form.check(value)),
    schema: { anyOf: [form.schema, { type: 'null' }] },
  }
}

/** A name under which the form is published, and what it is good for. */
export function named<T>(title: string, form: StrictSchema<T>, description: string): StrictSchema<T> {
  return { check: form.check, schema: { title, description, ...form.schema } }
}

/** What is meant if the member is absent. */
export function defaulting<T extends Json>(form: StrictSchema<T>, value: T): StrictSchema<T> {
  return { check: form.check, schema: { ...form.schema, default: value } }
}

/** A member that need not be there. */
export interface OptionalMember<T> {
  readonly optional: StrictSchema<T>
}

export type Members = Readonly<Record<string, StrictSchema<unknown> | OptionalMember<unknown>>>

/** These members and no others; with `open`, others too. */
export function object<M extends Members>(members: M, { open = false } = {}): StrictSchema<ObjectOf<M>> {
  const all: ReadonlyMap<string, Member> = new Map(
    Object.entries(members).map(([name, member]) => [
      name,
      'optional' in member ? { form: member.optional, isRequired: false } : { form: member, isRequired: true },
    ]),
  )
  const required = [...all].filter(([, { isRequired }]) => isRequired).map(([name]) => name)

  /** One pass over what is there: this is the hot path of every message. */
  function fault(value: unknown): Violation | undefined {
    if (!isObject(value)) return wrongType('an object', value)
    let found = 0
    for (const name in value) {
      const member = all.get(name)
      const given = value[name]
      if (member === undefined) {
        if (!open) return strange(name)
        const unreadable = unreadableIn(name) ?? unreadableIn(given)
        if (unreadable !== undefined) return new Violation(unreadable)
      } else if (given !== undefined) {
        const wrong = member.form.check(given)
        if (wrong !== undefined) return within(wrong, name)
        if (member.isRequired) found++
      }
    }
    if (found === required.length) return undefined
    const missing = required.find((name) => !Object.hasOwn(value, name) || value[name] === undefined)
    return within(new Violation('is required'), missing ?? '')
  }

  function strange(name: string): Violation {
    return new Violation(`has an unknown member ${excerpt(name)}: it may have only ${[...all.keys()].join(', ')}`)
  }

  return {
    check: fault,
    schema: {
      type: 'object',
      properties: Object.fromEntries([...all].map(([name, { form }]) => [name, form.schema])),
      ...(required.length > 0 && { required }),
      ...(!open && { additionalProperties: false }),
    },
  }
}

export type Infer<F> = F extends StrictSchema<infer T> ? T : never

/** One of several objects, told apart by the value of one member: the names of the options are its values as texts. */
export function choice<O extends Readonly<Record<string, StrictSchema<unknown>>>>(
  tag: string,
  options: O,
): StrictSchema<Infer<O[keyof O]>> {
  const forms: ReadonlyMap<string, StrictSchema<unknown>> = new Map(Object.entries(options))
  const words = [...forms.keys()].join(' or ')
  return {
    check(value) {
      if (!isObject(value)) return wrongType('an object', value)
      const option = Object.hasOwn(value, tag) ? forms.get(String(value[tag])) : undefined
      // The option looks at the tag again, and at its type.
      return option ? option.check(value) : within(new Violation(`expected ${words}`), tag)
    },
    schema: { type: 'object', oneOf: [...forms.values()].map(({ schema }) => schema) },
  }
}

export function optional<T>(form: StrictSchema<T>): OptionalMember<T> {
  return { optional: form }
}

/** JSON Schema counts characters, JavaScript their halves. */
function lengthOf(value: string): number {
  let length = 0
  for (const _ of value) length++
  return length
}

function within(fault: Violation, segment: string | number): Violation {
  fault.within(segment)
  return fault
}

/**
 * What no other program could read in this value, or would read otherwise (RFC 7493): halves of characters, and numbers
 * beyond a double. Neither has a canonical form, so neither can be signed. The depth must be limited before.
 */
function unreadableIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : 'has a string that is not valid Unicode'
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'has a number that is too great'
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (const item of value) {
      const fault = unreadableIn(item)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  for (const key in value) {
    const fault = unreadableIn(key) ?? unreadableIn((value as Readonly<Record<string, unknown>>)[key])
    if (fault !== undefined) return fault
  }
  return undefined
}

type ObjectOf<M> = { readonly [K in RequiredNames<M>]: Infer<M[K]> } & {
  readonly [K in Exclude<keyof M, RequiredNames<M>>]?: M[K] extends OptionalMember<infer T> ? T : never
}

type RequiredNames<M> = { [K in keyof M]: M[K] extends OptionalMember<unknown> ? never : K }[keyof M]

interface Member {
  readonly form: StrictSchema<unknown>
  readonly isRequired: boolean
}
