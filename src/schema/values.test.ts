import { describe, expect, expectTypeOf, it } from 'vitest'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { int32 } from './proto.ts'
import type { Infer } from './schema.ts'
import {
  boolean,
  defaultsTo,
  implicit,
  json,
  list,
  literal,
  map,
  object,
  optional,
  string,
  struct,
  tagged,
  taggedAs,
  union,
  withHint,
} from './values.ts'

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

const Person = object({
  fullName: string({ min: 1 }),
  age: optional(int32()),
  nickName: implicit(string()),
  isGuest: implicit(boolean()),
  luckyNumber: implicit(int32()),
  friends: implicit(list(string())),
})

const Content = object({ title: optional(string()) }, { oneOf: { text: string(), rawData: json() } })

describe('an object', () => {
  it('is read into a new object without unknown members', () => {
    expect(Person.read({ fullName: 'Ada', extra: true })).toStrictEqual({ fullName: 'Ada' })
  })

  it('may spell a member as the proto file does', () => {
    expect(Person.read({ full_name: 'Ada', nick_name: 'A' })).toStrictEqual({ fullName: 'Ada', nickName: 'A' })
  })

  it('must not have a member in both spellings', () => {
    const violation = violationOf(object({ person: Person }), { person: { fullName: 'Ada', full_name: null } })
    expect(violation).toBe('person: expected one spelling of a member, got fullName and full_name')
  })

  it('names a missing required member', () => {
    expect(violationOf(Person, {})).toBe('fullName: expected a string of 1 or more characters, got nothing')
    expect(violationOf(Person, { fullName: null })).toBe(
      'fullName: expected a string of 1 or more characters, got null',
    )
  })

  it('names the full path of a violation', () => {
    const Group = object({ members: list(Person) })
    const violation = violationOf(object({ group: Group }), {
      group: { members: [{ fullName: 'Ada', friends: ['B', 1] }] },
    })
    expect(violation).toBe('group.members[0].friends[1]: expected a string, got a number')
  })

  it('is not a list, a string or null', () => {
    for (const value of [[], 'text', null]) expect(violationOf(Person, value)).toMatch(/^expected an object, got /)
  })
})

describe('an optional member', () => {
  it('is unset only if it is absent or null', () => {
    expect(Person.read({ fullName: 'Ada', age: null })).toStrictEqual({ fullName: 'Ada' })
    expect(Person.read({ fullName: 'Ada', age: 0 })).toStrictEqual({ fullName: 'Ada', age: 0 })
  })

  it('with implicit presence is also unset by the default of its type', () => {
    const defaults = { nickName: '', isGuest: false, luckyNumber: 0, friends: [] }
    expect(Person.read({ fullName: 'Ada', ...defaults })).toStrictEqual({ fullName: 'Ada' })
    expect(violationOf(Person, { fullName: 'Ada', nickName: 0 })).toBe('nickName: expected a string, got a number')
  })
})

it('a required member with a fallback is read as the fallback if it is absent or null', () => {
  const Tagged = object({ tags: defaultsTo(list(string()), []) })
  expect([{}, { tags: null }, { tags: ['a'] }].map((value) => Tagged.read(value).tags)).toEqual([[], [], ['a']])
})

describe('a choice', () => {
  it('requires exactly one of its members', () => {
    expect(Content.read({ text: '', title: 'T' })).toStrictEqual({ title: 'T', text: '' })
    expect(Content.read({ raw_data: [1] })).toStrictEqual({ rawData: [1] })
    expect(violationOf(Content, {})).toBe('expected exactly one of text, rawData, got none of them')
    expect(violationOf(Content, { text: 'a', rawData: 1 })).toBe(
      'expected exactly one of text, rawData, got text and rawData',
    )
  })

  it('ignores a null member unless null is a value of it', () => {
    expect(violationOf(Content, { text: null })).toBe('expected exactly one of text, rawData, got none of them')
    expect(Content.read({ rawData: null })).toStrictEqual({ rawData: null })
    expect(Content.read({ text: 'a', rawData: undefined })).toStrictEqual({ text: 'a' })
  })

  it('names a wrong member', () => {
    expect(violationOf(Content, { text: 5 })).toBe('text: expected a string, got a number')
  })
})

it('the type of a value is inferred from its schema', () => {
  expectTypeOf<Infer<typeof Person>>().toExtend<{
    readonly fullName: string
    readonly age?: number
    readonly friends?: readonly string[]
  }>()
  expectTypeOf<{ readonly fullName: string }>().toExtend<Infer<typeof Person>>()
  expectTypeOf<{ readonly text: string }>().toExtend<Infer<typeof Content>>()
  expectTypeOf<{ readonly title: string }>().not.toExtend<Infer<typeof Content>>()
})

const Circle = object({ radius: string() })
const Figure = tagged('kind', { circle: Circle, label: object({ text: optional(string()) }) })

it('a literal is one of its values', () => {
  expect(literal('user', 'agent').read('agent')).toBe('agent')
  expect(violationOf(literal('user', 'agent'), 'USER')).toBe('expected one of user, agent, got "USER"')
  expect(violationOf(literal('user'), undefined)).toBe('expected "user", got nothing')
})

describe('an object with a fixed tag', () => {
  const TaggedCircle = taggedAs('kind', 'circle', Circle)

  it('is read without its tag', () => {
    expect(TaggedCircle.read({ kind: 'circle', radius: '7' })).toStrictEqual({ radius: '7' })
  })

  it('must have its tag', () => {
    expect(violationOf(TaggedCircle, { radius: '7' })).toBe('expected "kind" to be "circle", got nothing')
    expect(violationOf(TaggedCircle, { kind: 'square' })).toBe('expected "kind" to be "circle", got "square"')
    expect(violationOf(TaggedCircle, [])).toBe('expected an object, got a list')
    expect(violationOf(TaggedCircle, { kind: 'circle' })).toBe('radius: expected a string, got nothing')
  })
})

describe('a tagged object', () => {
  it('is read as an object with one member, named like the tag', () => {
    expect(Figure.read({ kind: 'circle', radius: '7' })).toStrictEqual({ circle: { radius: '7' } })
    expect(Figure.read({ kind: 'label' })).toStrictEqual({ label: {} })
    expectTypeOf<Infer<typeof Figure>>().toExtend<{ circle: { radius: string } } | { label: { text?: string } }>()
  })

  it('must have a known tag', () => {
    expect(violationOf(list(Figure), [{}])).toBe('[0]: expected "kind" to be one of circle, label, got nothing')
    expect(violationOf(Figure, { kind: 'toString' })).toBe('expected "kind" to be one of circle, label, got "toString"')
    expect(violationOf(Figure, { kind: 'circle' })).toBe('radius: expected a string, got nothing')
  })
})

describe('a union', () => {
  const Result = union('ok', {
    true: object({ ok: boolean(true), value: string() }),
    false: object({ ok: boolean(false) }),
  })

  it('is read by the schema that its tag selects', () => {
    expect(Result.read({ ok: true, value: 'a' })).toStrictEqual({ ok: true, value: 'a' })
    expect(Result.read({ ok: false })).toStrictEqual({ ok: false })
    expectTypeOf<{ ok: false }>().toExtend<Infer<typeof Result>>()
  })

  it('must have a known tag of the right type', () => {
    expect(violationOf(Result, {})).toBe('ok: expected true or false')
    expect(violationOf(Result, { ok: 'toString' })).toBe('ok: expected true or false')
    expect(violationOf(Result, { ok: 'false' })).toBe('ok: expected false, got a string')
  })
})
