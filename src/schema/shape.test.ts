import { describe, expect, it } from 'vitest'
import { schemaOf } from '../../test/support/schema/schema-of.ts'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { boolean, hinted, json, list, map, string, struct } from './schema.ts'

describe('a string', () => {
  it('is read as it is', () => {
    expect(string().read('')).toBe('')
  })

  it('is told by its type when it is something else, never by its content', () => {
    const got = [undefined, null, 7, true, ['s3cret'], { s3cret: 1 }].map((value) => violationOf(string(), value))
    expect(got).toEqual(
      ['nothing', 'null', 'a number', 'a boolean', 'a list', 'an object'].map(
        (type) => `expected a string, got ${type}`,
      ),
    )
  })

  it('has limits that the message names', () => {
    const short = string({ min: 1, max: 3 })
    expect(short.read('abc')).toBe('abc')
    expect(violationOf(short, '')).toBe('expected a string of 1 to 3 characters, got 0')
    expect(violationOf(short, 'abcd')).toBe('expected a string of 1 to 3 characters, got 4')
    expect(violationOf(string({ min: 1 }), '')).toBe('expected a string of 1 or more characters, got 0')
    expect(schemaOf(short)).toEqual({ type: 'string', minLength: 1, maxLength: 3 })
  })
})

describe('a boolean', () => {
  it('is true or false and nothing that looks like it', () => {
    expect(boolean().read(false)).toBe(false)
    expect(violationOf(boolean(), 'true')).toBe('expected true or false, got a string')
    expect(violationOf(boolean(), 1)).toBe('expected true or false, got a number')
  })
})

describe('any JSON', () => {
  it('is everything that is there, also null', () => {
    for (const value of [null, 0, '', false, [], {}]) expect(json().read(value)).toBe(value)
    expect(violationOf(json(), undefined)).toBe('expected a JSON value, got nothing')
  })

  it('is an object where a struct is asked for', () => {
    const value = { any: ['thing', null] }
    expect(struct().read(value)).toBe(value)
    for (const other of [null, [], 'text']) expect(violationOf(struct(), other)).toMatch(/^expected an object, got /)
  })
})

describe('a list', () => {
  it('names the item that is wrong', () => {
    expect(list(string()).read(['a', 'b'])).toEqual(['a', 'b'])
    expect(violationOf(list(list(string())), [['a'], ['b', null]])).toBe('[1][1]: expected a string, got null')
  })

  it('has limits that the message names', () => {
    const pair = list(string(), { min: 1, max: 2 })
    expect(violationOf(pair, [])).toBe('expected a list of 1 to 2 items, got 0')
    expect(violationOf(pair, ['a', 'b', 'c'])).toBe('expected a list of 1 to 2 items, got 3')
    expect(violationOf(pair, {})).toBe('expected a list of 1 to 2 items, got an object')
    expect(schemaOf(pair)).toEqual({ type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 2 })
  })
})

describe('a map', () => {
  it('takes any key, and names the one whose value is wrong', () => {
    expect(map(string()).read({ a: '1', b: '2' })).toEqual({ a: '1', b: '2' })
    expect(violationOf(map(list(string())), { 'x y': ['a', 1] })).toBe('["x y"][1]: expected a string, got a number')
    expect(schemaOf(map(boolean()))).toEqual({ type: 'object', additionalProperties: { type: 'boolean' } })
  })

  it('takes __proto__ for a key like any other', () => {
    const read = map(string()).read(JSON.parse('{"__proto__":"a"}'))
    expect(Object.keys(read)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })
})

describe('a hint', () => {
  const item = hinted(string(), (value) => (value === 7 ? 'seven is written in letters' : undefined))

  it('is added where it knows what was meant', () => {
    expect(violationOf(list(item), [7])).toBe('[0]: expected a string, got a number; seven is written in letters')
    expect(violationOf(item, 8)).toBe('expected a string, got a number')
    expect(item.read('7')).toBe('7')
  })

  it('says nothing about what is wrong further inside', () => {
    const outer = hinted(list(string()), () => 'not this')
    expect(violationOf(outer, [7])).toBe('[0]: expected a string, got a number')
  })
})
