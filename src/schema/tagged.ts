import { readObject, type Shape, type TypeOf, wrongValue } from './schema.ts'

/** What JSON of the older versions has: words as they are, and objects that say by a member of what kind they are. */

/** One of these words. */
export function word<T extends string>(...words: readonly T[]): Shape<T> {
  const known: ReadonlySet<unknown> = new Set(words)
  const expected = words.length === 1 ? `"${words[0]}"` : `one of ${words.join(', ')}`
  return {
    read(value) {
      if (!known.has(value)) throw wrongValue(expected, value)
      return value as T
    },
    form: { is: 'word', words },
  }
}

/** An object whose member `tag` is this word. The word says nothing more, so it is not in what is read. */
export function marked<T>(tag: string, name: string, shape: Shape<T>): Shape<T> {
  return {
    read(value) {
      const given = readObject(value)[tag]
      if (given !== name) throw wrongValue(`"${tag}" to be "${name}"`, given)
      return shape.read(value)
    },
    form: { is: 'tagged', tag, variants: { [name]: shape } },
  }
}

type Variants = Readonly<Record<string, Shape<unknown>>>
type OneMember<V> = { [K in keyof V]: { readonly [P in K]: TypeOf<V[P]> } }[keyof V]

/** An object whose member `tag` tells which of these it is. Read as an object whose one member is it. */
export function tagged<V extends Variants>(tag: string, variants: V): Shape<OneMember<V>> {
  const shapes: ReadonlyMap<unknown, Shape<unknown>> = new Map(Object.entries(variants))
  const expected = `"${tag}" to be one of ${Object.keys(variants).join(', ')}`
  return {
    read(value) {
      const name = readObject(value)[tag]
      const shape = shapes.get(name)
      if (shape === undefined) throw wrongValue(expected, name)
      return { [name as string]: shape.read(value) } as OneMember<V>
    },
    form: { is: 'tagged', tag, variants },
  }
}
