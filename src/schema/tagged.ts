import { type Infer, readObject, type Schema, wrongValue } from './schema.ts'

/** What JSON of the older versions has: words as they are, and objects that say by a member of what kind they are. */

/** One of these words. */
export function word<T extends string>(...words: readonly T[]): Schema<T> {
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
export function marked<T>(tag: string, name: string, shape: Schema<T>): Schema<T> {
  return {
    read(value) {
      const given = readObject(value)[tag]
      if (given !== name) throw wrongValue(`"${tag}" to be "${name}"`, given)
      return shape.read(value)
    },
    form: { is: 'tagged', tag, variants: { [name]: shape } },
  }
}

/** An object whose member `tag` tells which of these it is. Read as an object whose one member is it. */
export function tagged<V extends Variants>(tag: string, variants: V): Schema<OneMember<V>> {
  const shapes: ReadonlyMap<unknown, Schema<unknown>> = new Map(Object.entries(variants))
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

type Variants = Readonly<Record<string, Schema<unknown>>>

type OneMember<V> = { [K in keyof V]: { readonly [P in K]: Infer<V[P]> } }[keyof V]
