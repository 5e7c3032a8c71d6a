import { type Schema, Violation, wrongType, wrongValue } from './schema.ts'

/** The scalars that ProtoJSON adds to JSON (https://protobuf.dev/programming-guides/json/). */

const rfc3339 = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/

export interface Range {
  readonly min?: number
  readonly max?: number
}

/** A number, or its decimal string. */
export function int32({ min = -(2 ** 31), max = 2 ** 31 - 1 }: Range = {}): Schema<number> {
  return {
    read(value) {
      const number = typeof value === 'string' && /^-?\d{1,10}$/.test(value) ? Number(value) : value
      if (typeof number !== 'number' || !Number.isInteger(number) || number < min || number > max) {
        throw wrongValue(`an integer from ${min} to ${max}`, value)
      }
      return number
    },
    node: { is: 'integer', min, max },
    isDefault: (value) => value === 0 || value === '0',
  }
}

export interface ProtoEnum<T extends string> extends Schema<T> {
  /** The name of each value on the wire. */
  readonly names: Readonly<Record<T, string>>
  /** The name of 0 on the wire. */
  readonly unspecified: string
}

/**
 * A name or its number. `names` lists the values in the order of their numbers from 1; 0 is `unspecified`, not a value.
 */
export function protoEnum<T extends string>(unspecified: string, names: Readonly<Record<T, string>>): ProtoEnum<T> {
  const values = Object.keys(names) as T[]
  const wireNames = values.map((value) => names[value])
  const byWire = new Map<unknown, T>()
  for (const [index, value] of values.entries()) byWire.set(names[value], value).set(index + 1, value)
  return {
    read(wire) {
      const value = byWire.get(wire)
      if (value === undefined) throw wrongValue(`one of ${wireNames.join(', ')}`, wire)
      return value
    },
    node: { is: 'enum', values: wireNames },
    isDefault: (value) => value === 0 || value === unspecified,
    names,
    unspecified,
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

/** Base64, standard or URL-safe, with or without padding. Read as standard base64 with padding. */
export function bytes(): Schema<string> {
  return {
    read(value) {
      if (typeof value !== 'string') throw wrongType('base64', value)
      // One linear pass, because the text may have millions of characters.
      const end = value.search(/[^A-Za-z0-9+/_-]/)
      const unpadded = end === -1 ? value : value.slice(0, end)
      const padding = value.slice(unpadded.length)
      if (padding !== '' && !(value.length % 4 === 0 && /^={1,2}$/.test(padding))) {
        throw new Violation(`expected base64, got something else at character ${unpadded.length + 1}`)
      }
      const excess = unpadded.length % 4
      if (excess === 1) throw new Violation('expected base64, got a character too few or too many')
      const digits = unpadded.includes('-') || unpadded.includes('_') ? toStandardAlphabet(unpadded) : unpadded
      // Encoding the last group again adds its padding and clears unused bits.
      const lastGroup = digits.length - excess
      return digits.slice(0, lastGroup) + btoa(atob(digits.slice(lastGroup)))
    },
    node: { is: 'base64' },
  }
}

export interface TimestampOptions {
  /** The zone of a time that has none. Without this option such a time is a violation, as in protobuf. */
  readonly zone?: 'Z'
}

/** An RFC 3339 time. Read as UTC with milliseconds. */
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
      // An offset can move a time beyond years of four digits.
      if (!/^\d{4}-/.test(text)) throw wrongValue(expected, value)
      return text
    },
    node: { is: 'timestamp' },
  }
}

/** Works on bytes: string replacement is a hundred times slower when every other character changes. */
function toStandardAlphabet(digits: string): string {
  const codes = new TextEncoder().encode(digits)
  for (let at = 0; at < codes.length; at++) {
    if (codes[at] === 0x2d) codes[at] = 0x2b
    else if (codes[at] === 0x5f) codes[at] = 0x2f
  }
  return new TextDecoder().decode(codes)
}

/** `Date` reads 30 February as 2 March. */
function isDay(day: string | undefined): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().slice(0, 10) === day
}
