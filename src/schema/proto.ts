import { type Schema, Violation, wrongType, wrongValue } from './schema.ts'

const rfc3339 = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

/** The scalars of ProtoJSON (https://protobuf.dev/programming-guides/json/) that JSON itself has not. */

export interface Range {
  readonly min?: number
  readonly max?: number
}

/** A number, or its decimal text. */
export function int32({ min = -(2 ** 31), max = 2 ** 31 - 1 }: Range = {}): Schema<number> {
  return {
    read(value) {
      const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
        throw wrongValue(`an integer from ${min} to ${max}`, value)
      }
      return number
    },
    form: { is: 'integer', min, max },
    isDefault: (value) => value === 0 || value === '0',
  }
}

export interface ProtoEnum<T extends string> extends Schema<T> {
  /** How each value is written. */
  readonly names: Readonly<Record<T, string>>
  /** How 0 is written. */
  readonly unspecified: string
}

/** A name, or its number: `names` has them in the order of their numbers from 1 on. 0 is `unspecified`, and no value. */
export function protoEnum<T extends string>(unspecified: string, names: Readonly<Record<T, string>>): ProtoEnum<T> {
  const words = Object.keys(names) as T[]
  const wireNames = words.map((word) => names[word])
  const wordOf = new Map<unknown, T>()
  for (const [index, word] of words.entries()) wordOf.set(names[word], word).set(index + 1, word)
  return {
    read(value) {
      const word = wordOf.get(value)
      if (word === undefined) throw wrongValue(`one of ${wireNames.join(', ')}`, value)
      return word
    },
    form: { is: 'word', words: wireNames },
    isDefault: (value) => value === 0 || value === unspecified,
    names,
    unspecified,
  }
}

/** As the enum, where 0 is a value: this one. */
export function withUnspecified<T extends string, U extends string>(
  { read, names, unspecified }: ProtoEnum<T>,
  word: U,
): ProtoEnum<T | U> {
  const all = { ...names, [word]: unspecified } as ProtoEnum<T | U>['names']
  return {
    read: (value) => (value === 0 || value === unspecified ? word : read(value)),
    form: { is: 'word', words: Object.values(all) },
    names: all,
    unspecified,
  }
}

/** Base64, standard or URL-safe, with or without padding. Read as standard base64 with padding. */
export function bytes(): Schema<string> {
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType('base64', value)
      // One linear pass: this text may have millions of characters.
      const end = value.search(/[^A-Za-z0-9+/_-]/)
      const given = end === -1 ? value : value.slice(0, end)
      const padding = value.slice(given.length)
      if (padding !== '' && !(value.length % 4 === 0 && /^={1,2}$/.test(padding))) {
        throw new Violation(`expected base64, got something else at character ${given.length + 1}`)
      }
      const excess = given.length % 4
      if (excess === 1) throw new Violation('expected base64, got a character too few or too many')
      const digits = given.includes('-') || given.includes('_') ? toStandardAlphabet(given) : given
      // Written anew, the last bytes get their padding and lose the bits that mean nothing.
      const whole = digits.length - excess
      return digits.slice(0, whole) + btoa(atob(digits.slice(whole)))
    },
    form: { is: 'base64' },
  }
}

export interface TimestampOptions {
  /** The zone of a time that names none. Without it such a time is refused, as protobuf does. */
  readonly zone?: 'Z'
}

/** A moment as in RFC 3339. Read as UTC with milliseconds. */
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
      // An offset can push a time out of the years of four digits.
      if (!/^\d{4}-/.test(text)) throw wrongValue(expected, value)
      return text
    },
    form: { is: 'time' },
  }
}

/** Byte by byte: replacing in the text takes a hundred times longer where every other character is replaced. */
function toStandardAlphabet(digits: string): string {
  const codes = new TextEncoder().encode(digits)
  for (let at = 0; at < codes.length; at++) {
    if (codes[at] === 0x2d) codes[at] = 0x2b
    else if (codes[at] === 0x5f) codes[at] = 0x2f
  }
  return new TextDecoder().decode(codes)
}

/** `Date` takes the 30th of February for the 2nd of March. */
function isDay(day: string | undefined): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day
}
