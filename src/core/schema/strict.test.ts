import { describe, expect, it } from 'vitest'
import { violationOf } from '../../../test/support/schema/violation-of.ts'
import type { Schema } from './schema.ts'
import { nullable, nullValue, number, strict, titled } from './strict.ts'
import { literal, union } from './unions.ts'
import { boolean, json, list, object, optional, string, struct, timestamp } from './values.ts'

function check(schema: Schema<unknown>, value: unknown): string | undefined {
  const violation = strict(schema).check(value)
  return violation && [violation.path, violation.message].filter(Boolean).join(': ')
}

describe('a strict string', () => {
  it('a strict string is measured in code points', () => {
    const name = string({ min: 2, max: 3 })
    expect(check(name, '😀😀😀')).toBeUndefined()
    expect(check(name, '😀')).toBe('expected 2 to 3 characters, got 1')
    expect(check(name, 'abcd')).toBe('expected 2 to 3 characters, got 4')
    expect(check(string({ min: 1 }), '')).toBe('expected 1 or more characters, got 0')
  })

  it('a strict string must be valid Unicode', () => {
    expect(check(string(), 'a\ud83d')).toBe('is not valid Unicode')
  })

  it('a strict string must match its pattern', () => {
    const code = string({ pattern: '^[A-Z]+$', expected: 'capitals' })
    expect([check(code, 'A'), check(code, 'a')]).toEqual([undefined, 'expected capitals, got "a"'])
  })
})

it.each<[Schema<unknown>, readonly unknown[], readonly unknown[]]>([
  [boolean(), [true, false], ['true', null]],
  [boolean(false), [false], [true, 'false']],
  [nullValue(), [null], [undefined, '']],
  [nullable(string()), [null, ''], [7]],
  [literal('a', 'b'), ['a'], ['c', ['a']]],
  [number({ min: 0 }), [0, 0.5], [-1, '1', Number.POSITIVE_INFINITY]],
  [number({ min: 1, max: 3, integer: true }), [1, 3], [0, 4, 1.5, '1']],
  [list(string(), { min: 1, max: 2 }), [['a']], [[], ['a', 'b', 'c'], [1], 'a']],
  [struct(), [{}], [[], null, { a: '\ud800' }, { '\udc00': 1 }, { a: [Number.POSITIVE_INFINITY] }]],
  [json(), [null, [], 'a'], ['\ud800']],
])('a strict schema accepts only values that need no conversion (%#)', (schema, valid, invalid) => {
  for (const value of valid) expect(check(schema, value)).toBeUndefined()
  for (const value of invalid) expect(check(schema, value)).toBeTypeOf('string')
})

describe('a strict object', () => {
  const Person = object({ name: string(), age: optional(number({ min: 0 })) })

  it('a strict object rejects unknown members unless it is open', () => {
    expect(check(Person, { name: 'Ada' })).toBeUndefined()
    expect(check(Person, { name: 'Ada', x: 1 })).toBe('has an unknown member "x": it may have only name, age')
    const Open = object({ name: string() }, { open: true })
    expect(check(Open, { name: 'Ada', x: 1 })).toBeUndefined()
    expect(check(Open, { name: 'Ada', x: '\ud800' })).toBe('has a string that is not valid Unicode')
  })

  it('a strict object names the path of a violation and a missing member', () => {
    expect(check(object({ people: list(Person) }), { people: [{ name: 'Ada', age: null }] })).toBe(
      'people[0].age: expected a number of 0 or more, got null',
    )
    expect(check(Person, { age: 1 })).toBe('name: is required')
    expect(check(Person, { name: undefined })).toBe('name: is required')
  })
})

it('a strict union is checked by the schema that its tag selects', () => {
  const Result = union('ok', {
    true: object({ ok: boolean(true), value: string() }),
    false: object({ ok: boolean(false) }),
  })
  expect(check(Result, { ok: false })).toBeUndefined()
  expect(check(Result, { ok: 'false' })).toBe('ok: expected false, got a string')
  expect(check(Result, { ok: true })).toBe('value: is required')
  expect(check(Result, JSON.parse('{"__proto__":{"ok":false}}'))).toBe('ok: expected true or false')
})

it('a titled schema checks and reads like its content', () => {
  const Name = titled('Name', string(), 'A name.')
  expect([Name.check('a'), Name.read('a')]).toEqual([undefined, 'a'])
  expect(violationOf(number({ min: 0 }), -1)).toBe('expected a number of 0 or more, got -1')
  expect(nullable(string()).read(null)).toBeNull()
})

it('a schema that converts cannot be strict', () => {
  expect(() => strict(list(timestamp()))).toThrow('A timestamp schema cannot be checked without conversion.')
})
