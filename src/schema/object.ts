import { type Infer, type Member, readObject, type Schema, Violation, withPath } from './schema.ts'

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

export type Fields = Readonly<Record<string, Schema<unknown> | OptionalField<unknown>>>

type Choices = Readonly<Record<string, Schema<unknown>>>

interface ObjectOptions {
  readonly oneOf?: Choices
  readonly open?: boolean
}

type ObjectOf<F> = { readonly [K in RequiredKeys<F>]: Infer<F[K]> } & {
  readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: F[K] extends OptionalField<infer T> ? T : never
}

type RequiredKeys<F> = { [K in keyof F]: F[K] extends Schema<unknown> ? K : never }[keyof F]

type OneOf<C> = { [K in keyof C]: { readonly [P in K]: Infer<C[P]> } }[keyof C]

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
