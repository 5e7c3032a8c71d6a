import { type Infer, type Schema, type Variants, Violation, withPath, wrongValue } from './schema.ts'
import { type ProtoEnum, readObject } from './values.ts'

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

/** The same enum, with 0 read as a value of its own. */
export function withUnspecified<T extends string, U extends string>(
  { read, names, unspecified }: ProtoEnum<T>,
  zero: U,
): ProtoEnum<T | U> {
  const all = { ...names, [zero]: unspecified } as ProtoEnum<T | U>['names']
  return {
    read: (value) => (value === 0 || value === unspecified ? zero : read(value)),
    node: { is: 'enum', values: Object.values(all) },
    names: all,
    unspecified,
  }
}

type OneMember<V> = { [K in keyof V]: { readonly [P in K]: Infer<V[P]> } }[keyof V]
