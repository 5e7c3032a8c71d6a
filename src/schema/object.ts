import { type Infer, type Member, placed, readObject, type Schema, Violation } from './schema.ts'

/** A member that need not be there. */
export interface OptionalField<T> {
  readonly shape: Schema<T>
  /** Whether the member, although there, says nothing. */
  isUnset(value: unknown): boolean
  readonly isImplicit?: boolean
}

/** A proto3 field without presence: not set also when it has the default of its type (`""`, 0, false, `[]`). */
export function implicit<T>(shape: Schema<T>): OptionalField<T> {
  return { shape, isUnset: (value) => value === null || shape.isDefault?.(value) === true, isImplicit: true }
}

/** A required member that writers of ProtoJSON leave out when it is empty: read as that value then. */
export function assumed<T>(shape: Schema<T>, value: T): Schema<T> {
  return { ...shape, read: (given) => (given === undefined || given === null ? value : shape.read(given)) }
}

/** Not set when absent or `null`. */
export function optional<T>(shape: Schema<T>): OptionalField<T> {
  return { shape, isUnset: (value) => value === null && !shape.takesNull }
}

/** Each member may also be spelled as in the proto, in snake_case. Unknown members are ignored. */
export function object<F extends Fields>(fields: F): Schema<ObjectOf<F>>

/** Exactly one of the members in `oneOf` is there besides the fields. */
export function object<F extends Fields, C extends Choice>(
  fields: F,
  choice: { readonly oneOf: C },
): Schema<ObjectOf<F> & OneOf<C>>

export function object(fields: Fields, { oneOf = {} }: { readonly oneOf?: Choice } = {}): Schema<unknown> {
  const members = Object.entries(fields).map(([name, field]) => toMember(name, field))
  const choices = Object.entries(oneOf).map(([name, shape]) => toMember(name, optional(shape)))
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
    form: { is: 'members', members, choices },
  }
}

type Fields = Readonly<Record<string, Schema<unknown> | OptionalField<unknown>>>

type ObjectOf<F> = { readonly [K in RequiredKeys<F>]: Infer<F[K]> } & {
  readonly [K in Exclude<keyof F, RequiredKeys<F>>]?: F[K] extends OptionalField<infer T> ? T : never
}

type RequiredKeys<F> = { [K in keyof F]: F[K] extends Schema<unknown> ? K : never }[keyof F]

type Choice = Readonly<Record<string, Schema<unknown>>>

type OneOf<C> = { [K in keyof C]: { readonly [P in K]: Infer<C[P]> } }[keyof C]

function toMember(name: string, field: Schema<unknown> | OptionalField<unknown>): Member {
  const snakeCase = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const protoName = snakeCase === name ? undefined : snakeCase
  if (!('shape' in field)) return { name, protoName, shape: field, isUnset: undefined, isImplicit: false }
  const { shape, isUnset, isImplicit = false } = field
  return { name, protoName, shape, isUnset, isImplicit }
}

/** Answers whether the member is set. */
function readInto(
  target: Record<string, unknown>,
  source: Source,
  { name, protoName, shape, isUnset }: Member,
): boolean {
  const value = protoName === undefined ? source[name] : oneSpelling(source, name, protoName)
  if (isUnset !== undefined && (value === undefined || isUnset(value))) return false
  try {
    target[name] = shape.read(value)
  } catch (error) {
    throw placed(error, name)
  }
  return true
}

type Source = Readonly<Record<string, unknown>>

function oneSpelling(source: Source, name: string, protoName: string): unknown {
  const value = source[name]
  const other = source[protoName]
  if (other === undefined) return value
  if (value !== undefined) throw new Violation(`expected one spelling of a member, got ${name} and ${protoName}`)
  return other
}

function notOne(choices: readonly Member[], chosen: readonly string[]): Violation {
  const names = choices.map(({ name }) => name).join(', ')
  return new Violation(`expected exactly one of ${names}, got ${chosen.join(' and ') || 'none of them'}`)
}
