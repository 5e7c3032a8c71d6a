import type { Json } from '../base/json.ts'

/**
 * Describes a JSON value once. The description yields a reader, a TypeScript type (`Infer`), a check that does not
 * convert (strict.ts) and a JSON Schema (json-schema.ts). `read` normalises, so it accepts more spellings than the
 * other two, which know only the one that we write. Schemas are made by the functions of values.ts and unions.ts.
 */
export interface Schema<T> {
  /** Throws a `Violation`. */
  read(value: unknown): T
  readonly node: SchemaNode
  /** Whether proto3 treats the value as "not set". */
  isDefault?(value: unknown): boolean
  /** `null` is a value here; anywhere else it means that a field is not set. */
  readonly takesNull?: true
}

export type Infer<S> = S extends Schema<infer T> ? T : never

/** A schema as data. */
export type SchemaNode = Annotations &
  (
    | ({ readonly is: 'string' } & StringRules)
    | { readonly is: 'boolean'; readonly only?: boolean }
    | { readonly is: 'json' | 'object' | 'base64' | 'timestamp' | 'null' }
    | { readonly is: 'integer' | 'number'; readonly min: number; readonly max: number }
    | { readonly is: 'enum'; readonly values: readonly string[] }
    | ({ readonly is: 'list'; readonly item: Schema<unknown> } & Length)
    | { readonly is: 'map'; readonly item: Schema<unknown> }
    | {
        readonly is: 'members'
        readonly members: readonly Member[]
        /** Exactly one of these is present. */
        readonly choices: readonly Member[]
        /** Whether unknown members are allowed. `read` ignores them either way. */
        readonly open: boolean
      }
    | { readonly is: 'nullable'; readonly of: Schema<unknown> }
    | { readonly is: 'any'; readonly of: readonly Schema<unknown>[] }
    /** The member `tag` selects a schema that does not list the tag itself. */
    | { readonly is: 'tagged'; readonly tag: string; readonly variants: Variants }
    /** The member `tag`, as text, selects a schema that lists the tag as well. */
    | { readonly is: 'union'; readonly tag: string; readonly variants: Variants }
    /** At most one of these members is present. */
    | { readonly is: 'exclusive'; readonly of: Schema<unknown>; readonly names: readonly string[] }
  )

export type Variants = Readonly<Record<string, Schema<unknown>>>

/** Parts of a JSON Schema that only inform. */
interface Annotations {
  readonly title?: string
  readonly description?: string
  readonly default?: Json
}

export interface Length {
  readonly min?: number
  readonly max?: number
}

export interface StringRules extends Length {
  /** Starts with `^` and ends with `$`. */
  readonly pattern?: string
  /** A `format` of JSON Schema, which only informs: the pattern decides. */
  readonly format?: string
  /** What the pattern stands for, in error texts. */
  readonly expected?: string
}

/** A member of an object. */
export interface Member {
  readonly name: string
  /** The spelling in the proto file, if it differs. */
  readonly protoName: string | undefined
  readonly schema: Schema<unknown>
  /** Whether the value counts as absent. Required members have no such values. */
  readonly isUnset: ((value: unknown) => boolean) | undefined
  /** Writers leave the member out when it has the default of its type. */
  readonly isImplicit: boolean
}

/** Reads the value, or returns undefined if it violates the schema. */
export function tryRead<T>(schema: Schema<T>, value: unknown): T | undefined {
  try {
    return schema.read(value)
  } catch (error) {
    if (error instanceof Violation) return undefined
    throw error
  }
}

/**
 * A value does not match its schema. The path is built while the error propagates, so that valid input pays nothing.
 */
export class Violation extends Error {
  override readonly name = 'Violation'
  #path = ''

  get path(): string {
    return this.#path
  }

  /** Prepends the member or index that holds the value. */
  within(segment: string | number): void {
    const step = typeof segment === 'number' ? `[${segment}]` : segment
    this.#path = this.#path === '' || this.#path.startsWith('[') ? step + this.#path : `${step}.${this.#path}`
  }
}

/** Returns the error; prepends to its path if it is a violation. */
export function withPath(error: unknown, segment: string | number): unknown {
  if (error instanceof Violation) error.within(segment)
  return error
}

/** Names only the type of the value, which may be large or secret. */
export function wrongType(expected: string, value: unknown): Violation {
  return new Violation(`expected ${expected}, got ${typeNameOf(value)}`)
}

/** As `wrongType`, but shows strings and numbers. */
export function wrongValue(expected: string, value: unknown): Violation {
  if (typeof value === 'string') return new Violation(`expected ${expected}, got ${excerpt(value)}`)
  if (typeof value === 'number') return new Violation(`expected ${expected}, got ${value}`)
  return wrongType(expected, value)
}

/** The start of a caller's text, safe to print. */
export function excerpt(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 39)}…` : text)
}

function typeNameOf(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
