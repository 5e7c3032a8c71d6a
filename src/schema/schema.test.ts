import { describe, expect, it } from 'vitest'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { boolean, json, list, map, string, struct, tryRead, withHint } from './schema.ts'

describe('a string', () => {
  it('is read unchanged', () => {
    expect(string().read('')).toBe('')
  })

  it('names the type of a wrong value, never its content', () => {
    const got = [undefined, null, 7, true, ['s3cret'], { s3cret: 1 }].map((value) => violationOf(string(), value))
    expect(got).toEqual(
      ['nothing', 'null', 'a number', 'a boolean', 'a list', 'an object'].map(
        (type) => `expected a string, got ${type}`,
      ),
    )
  })

  it('names its limits in the violation', () => {
    const short = string({ min: 1, max: 3 })
    expect(short.read('abc')).toBe('abc')
    expect(violationOf(short, '')).toBe('expected a string of 1 to 3 characters, got 0')
    expect(violationOf(short, 'abcd')).toBe('expected a string of 1 to 3 characters, got 4')
    expect(violationOf(string({ min: 1 }), '')).toBe('expected a string of 1 or more characters, got 0')
  })

  it('must match its pattern, which the violation describes', () => {
    const code = string({ pattern: '^[A-Z]+$', expected: 'capitals' })
    expect(code.read('ABC')).toBe('ABC')
    expect(violationOf(code, 'abc')).toBe('expected capitals, got "abc"')
    expect(violationOf(code, 7)).toBe('expected capitals, got a number')
  })
})

describe('a boolean', () => {
  it('accepts only true and false', () => {
    expect(boolean().read(false)).toBe(false)
    expect(violationOf(boolean(), 'true')).toBe('expected true or false, got a string')
    expect(violationOf(boolean(), 1)).toBe('expected true or false, got a number')
    expect(boolean(true).read(true)).toBe(true)
    expect(violationOf(boolean(true), false)).toBe('expected true, got a boolean')
  })
})

describe('a JSON value', () => {
  it('may be anything but undefined', () => {
    for (const value of [null, 0, '', false, [], {}]) expect(json().read(value)).toBe(value)
    expect(violationOf(json(), undefined)).toBe('expected a JSON value, got nothing')
  })

  it('must be an object in a struct', () => {
    const value = { any: ['thing', null] }
    expect(struct().read(value)).toBe(value)
    for (const other of [null, [], 'text']) expect(violationOf(struct(), other)).toMatch(/^expected an object, got /)
  })
})

describe('a list', () => {
  it('names the index of a wrong item', () => {
    expect(list(string()).read(['a', 'b'])).toEqual(['a', 'b'])
    expect(violationOf(list(list(string())), [['a'], ['b', null]])).toBe('[1][1]: expected a string, got null')
  })

  it('names its limits in the violation', () => {
    const pair = list(string(), { min: 1, max: 2 })
    expect(violationOf(pair, [])).toBe('expected a list of 1 to 2 items, got 0')
    expect(violationOf(pair, ['a', 'b', 'c'])).toBe('expected a list of 1 to 2 items, got 3')
    expect(violationOf(pair, {})).toBe('expected a list of 1 to 2 items, got an object')
  })
})

describe('a map', () => {
  it('accepts any key and names the key of a wrong value', () => {
    expect(map(string()).read({ a: '1', b: '2' })).toEqual({ a: '1', b: '2' })
    expect(violationOf(map(list(string())), { 'x y': ['a', 1] })).toBe('["x y"][1]: expected a string, got a number')
  })

  it('treats __proto__ like any other key', () => {
    const read = map(string()).read(JSON.parse('{"__proto__":"a"}'))
    expect(Object.keys(read)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(read)).toBe(Object.prototype)
  })
})

describe('a hint', () => {
  const item = withHint(string(), (value) => (value === 7 ? 'seven is written in letters' : undefined))

  it('is added to the violation if it applies', () => {
    expect(violationOf(list(item), [7])).toBe('[0]: expected a string, got a number; seven is written in letters')
    expect(violationOf(item, 8)).toBe('expected a string, got a number')
    expect(item.read('7')).toBe('7')
  })

  it('does not apply to violations further inside', () => {
    const outer = withHint(list(string()), () => 'not this')
    expect(violationOf(outer, [7])).toBe('[0]: expected a string, got a number')
  })
})

it('tryRead returns undefined for a value that violates the schema', () => {
  expect([tryRead(string(), 'a'), tryRead(string(), 7)]).toEqual(['a', undefined])
})
