import fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { violationOf } from '../../../test/support/schema/violation-of.ts'
import type { Infer } from './schema.ts'
import { withUnspecified } from './unions.ts'
import {
  boolean,
  bytes,
  defaultsTo,
  implicit,
  int32,
  json,
  list,
  map,
  object,
  optional,
  protoEnum,
  string,
  struct,
  timestamp,
  withHint,
} from './values.ts'

describe('a string', () => {
  it('a string is read unchanged', () => {
    expect(string().read('')).toBe('')
  })

  it('a string names the type of a wrong value, never its content', () => {
    const got = [undefined, null, 7, true, ['s3cret'], { s3cret: 1 }].map((value) => violationOf(string(), value))
    expect(got).toEqual(
      ['nothing', 'null', 'a number', 'a boolean', 'a list', 'an object'].map(
        (type) => `expected a string, got ${type}`,
      ),
    )
  })

  it('a string names its limits in the violation', () => {
    const short = string({ min: 1, max: 3 })
    expect(short.read('abc')).toBe('abc')
    expect(violationOf(short, '')).toBe('expected a string of 1 to 3 characters, got 0')
    expect(violationOf(short, 'abcd')).toBe('expected a string of 1 to 3 characters, got 4')
    expect(violationOf(string({ min: 1 }), '')).toBe('expected a string of 1 or more characters, got 0')
  })

  it('a string must match its pattern, which the violation describes', () => {
    const code = string({ pattern: '^[A-Z]+$', expected: 'capitals' })
    expect(code.read('ABC')).toBe('ABC')
    expect(violationOf(code, 'abc')).toBe('expected capitals, got "abc"')
    expect(violationOf(code, 7)).toBe('expected capitals, got a number')
  })
})

describe('a boolean', () => {
  it('a boolean accepts only true and false', () => {
    expect(boolean().read(false)).toBe(false)
    expect(violationOf(boolean(), 'true')).toBe('expected true or false, got a string')
    expect(violationOf(boolean(), 1)).toBe('expected true or false, got a number')
    expect(boolean(true).read(true)).toBe(true)
    expect(violationOf(boolean(true), false)).toBe('expected true, got a boolean')
  })
})

describe('a JSON value', () => {
  it('a JSON value may be anything but undefined', () => {
    for (const value of [null, 0, '', false, [], {}]) expect(json().read(value)).toBe(value)
    expect(violationOf(json(), undefined)).toBe('expected a JSON value, got nothing')
  })

  it('a JSON value must be an object in a struct', () => {
    const value = { any: ['thing', null] }
    expect(struct().read(value)).toBe(value)
    for (const other of [null, [], 'text']) expect(violationOf(struct(), other)).toMatch(/^expected an object, got /)
  })
})

describe('a list', () => {
  it('a list names the index of a wrong item', () => {
    expect(list(string()).read(['a', 'b'])).toEqual(['a', 'b'])
    expect(violationOf(list(list(string())), [['a'], ['b', null]])).toBe('[1][1]: expected a string, got null')
  })

  it('a list names its limits in the violation', () => {
    const pair = list(string(), { min: 1, max: 2 })
    expect(violationOf(pair, [])).toBe('expected a list of 1 to 2 items, got 0')
    expect(violationOf(pair, ['a', 'b', 'c'])).toBe('expected a list of 1 to 2 items, got 3')
    expect(violationOf(pair, {})).toBe('expected a list of 1 to 2 items, got an object')
  })
})

describe('a map', () => {
  it('a map accepts any key and names the key of a wrong value', () => {
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

  it('a hint is added to the violation if it applies', () => {
    expect(violationOf(list(item), [7])).toBe('[0]: expected a string, got a number; seven is written in letters')
    expect(violationOf(item, 8)).toBe('expected a string, got a number')
    expect(item.read('7')).toBe('7')
  })

  it('a hint does not apply to violations further inside', () => {
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
  it('an object is read into a new object without unknown members', () => {
    expect(Person.read({ fullName: 'Ada', extra: true })).toStrictEqual({ fullName: 'Ada' })
  })

  it('an object may spell a member as the proto file does', () => {
    expect(Person.read({ full_name: 'Ada', nick_name: 'A' })).toStrictEqual({ fullName: 'Ada', nickName: 'A' })
  })

  it('an object must not have a member in both spellings', () => {
    const violation = violationOf(object({ person: Person }), { person: { fullName: 'Ada', full_name: null } })
    expect(violation).toBe('person: expected one spelling of a member, got fullName and full_name')
  })

  it('an object names a missing required member', () => {
    expect(violationOf(Person, {})).toBe('fullName: expected a string of 1 or more characters, got nothing')
    expect(violationOf(Person, { fullName: null })).toBe(
      'fullName: expected a string of 1 or more characters, got null',
    )
  })

  it('an object names the full path of a violation', () => {
    const Group = object({ members: list(Person) })
    const violation = violationOf(object({ group: Group }), {
      group: { members: [{ fullName: 'Ada', friends: ['B', 1] }] },
    })
    expect(violation).toBe('group.members[0].friends[1]: expected a string, got a number')
  })

  it('an object is not a list, a string or null', () => {
    for (const value of [[], 'text', null]) expect(violationOf(Person, value)).toMatch(/^expected an object, got /)
  })
})

describe('an optional member', () => {
  it('an optional member is unset only if it is absent or null', () => {
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
  it('a choice requires exactly one of its members', () => {
    expect(Content.read({ text: '', title: 'T' })).toStrictEqual({ title: 'T', text: '' })
    expect(Content.read({ raw_data: [1] })).toStrictEqual({ rawData: [1] })
    expect(violationOf(Content, {})).toBe('expected exactly one of text, rawData, got none of them')
    expect(violationOf(Content, { text: 'a', rawData: 1 })).toBe(
      'expected exactly one of text, rawData, got text and rawData',
    )
  })

  it('a choice ignores a null member unless null is a value of it', () => {
    expect(violationOf(Content, { text: null })).toBe('expected exactly one of text, rawData, got none of them')
    expect(Content.read({ rawData: null })).toStrictEqual({ rawData: null })
    expect(Content.read({ text: 'a', rawData: undefined })).toStrictEqual({ text: 'a' })
  })

  it('a choice names a wrong member', () => {
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

describe('int32', () => {
  it('int32 is a number or its decimal string', () => {
    for (const value of [0, 5, -7, 2147483647, -2147483648]) {
      expect(int32().read(value)).toBe(value)
      expect(int32().read(`${value}`)).toBe(value)
    }
  })

  it('int32 is an integer in its range', () => {
    const size = int32({ min: 1, max: 100 })
    expect(violationOf(size, 150)).toBe('expected an integer from 1 to 100, got 150')
    expect(violationOf(size, 1.5)).toBe('expected an integer from 1 to 100, got 1.5')
    expect(violationOf(size, '1.5')).toBe('expected an integer from 1 to 100, got "1.5"')
    expect(violationOf(size, true)).toBe('expected an integer from 1 to 100, got a boolean')
    for (const value of ['', ' 5', '5 ', '1e1', '0x5', '99999999999', 2 ** 31, -(2 ** 31) - 1, Number.NaN, null]) {
      expect(violationOf(int32(), value)).toMatch(/^expected an integer from -2147483648 to 2147483647, got /)
    }
  })

  it('int32 shows at most 40 characters of a wrong string', () => {
    expect(violationOf(int32(), 'x'.repeat(5000))).toContain(`got "${'x'.repeat(39)}…"`)
  })
})

describe('an enum', () => {
  const Color = protoEnum('COLOR_UNSPECIFIED', { red: 'COLOR_RED', green: 'COLOR_GREEN' })

  it('an enum is read by name or by number', () => {
    expect(['COLOR_RED', 'COLOR_GREEN', 1, 2].map((value) => Color.read(value))).toEqual([
      'red',
      'green',
      'red',
      'green',
    ])
  })

  it('an enum accepts neither other spellings nor the unspecified value', () => {
    expect(violationOf(Color, 'red')).toBe('expected one of COLOR_RED, COLOR_GREEN, got "red"')
    expect(violationOf(Color, 3)).toBe('expected one of COLOR_RED, COLOR_GREEN, got 3')
    for (const value of ['COLOR_UNSPECIFIED', 0, '1', 'color_red', null, [], 'toString']) violationOf(Color, value)
    expect(Color.isDefault?.('COLOR_UNSPECIFIED')).toBe(true)
    expect(Color.isDefault?.(0)).toBe(true)
  })

  it('an enum may read the unspecified value as a value of its own', () => {
    const AnyColor = withUnspecified(Color, 'none')
    expect(['COLOR_UNSPECIFIED', 0, 'COLOR_RED'].map((value) => AnyColor.read(value))).toEqual(['none', 'none', 'red'])
    expect(AnyColor.names).toEqual({ red: 'COLOR_RED', green: 'COLOR_GREEN', none: 'COLOR_UNSPECIFIED' })
    expect(violationOf(AnyColor, 'none')).toBe('expected one of COLOR_RED, COLOR_GREEN, got "none"')
  })
})

describe('bytes', () => {
  it('bytes are read as padded standard base64 from any spelling', () => {
    const spellings = { '//77': '//77', __77: '//77', 'QQ==': 'QQ==', QQ: 'QQ==', QUI: 'QUI=', '-_8': '+/8=', '': '' }
    for (const [wire, read] of Object.entries(spellings)) expect(bytes().read(wire)).toBe(read)
  })

  it('lose unused trailing bits, so that equal bytes are equal strings', () => {
    expect(bytes().read('QR==')).toBe('QQ==')
    expect(bytes().read('QUJ')).toBe('QUI=')
  })

  it('bytes must be base64; the violation names the position but not the content', () => {
    expect(violationOf(bytes(), 7)).toBe('expected base64, got a number')
    expect(violationOf(bytes(), 'QU JD')).toBe('expected base64, got something else at character 3')
    expect(violationOf(bytes(), 'QUJDR')).toBe('expected base64, got a character too few or too many')
    for (const value of ['Q', 'QQ=', 'QUI==', 'QQ===', '====', '=', 'QQ==QQ==', 'ä', 'QQ\n', '"s3cret"']) {
      expect(violationOf(bytes(), value)).not.toContain('s3cret')
    }
  })

  it('bytes are read alike in all four spellings', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (content) => {
        const standard = Buffer.from(content).toString('base64')
        const urlSafe = standard.replaceAll('+', '-').replaceAll('/', '_')
        for (const spelling of [standard, urlSafe, standard.replace(/=+$/, ''), urlSafe.replace(/=+$/, '')]) {
          expect(bytes().read(spelling)).toBe(standard)
        }
      }),
    )
  })
})

describe('a timestamp', () => {
  it('a timestamp is read as UTC with milliseconds', () => {
    const moments = {
      '2026-05-01T08:00:00Z': '2026-05-01T08:00:00.000Z',
      '2026-05-01T08:00:00.123456789Z': '2026-05-01T08:00:00.123Z',
      '2026-05-01T08:00:00.5+02:00': '2026-05-01T06:00:00.500Z',
      '2024-02-29T23:30:00-01:00': '2024-03-01T00:30:00.000Z',
    }
    for (const [wire, read] of Object.entries(moments)) expect(timestamp().read(wire)).toBe(read)
  })

  it('a timestamp is an existing moment in the format of RFC 3339', () => {
    const invalid = [
      '2026-05-01',
      '2026-05-01 08:00:00Z',
      '2026-05-01T08:00Z',
      '2026-02-30T08:00:00Z',
      '2025-02-29T08:00:00Z',
      '2026-13-01T08:00:00Z',
      '2026-05-01T24:00:00Z',
      '2026-05-01T08:00:60Z',
      '2026-05-01T08:00:00+25:00',
      '2026-05-01T08:00:00.0000000001Z',
      '9999-12-31T23:59:59-14:00',
      'Fri, 01 May 2026 08:00:00 GMT',
      '',
    ]
    for (const value of invalid) expect(violationOf(timestamp(), value)).toMatch(/^expected a time such as 2026-05-01T/)
    expect(violationOf(timestamp(), 1777622400)).toMatch(/got a number$/)
  })

  it('a timestamp has a zone unless the schema supplies one', () => {
    const pythonic = '2025-04-02T16:59:25.331844'
    expect(violationOf(timestamp(), pythonic)).toContain(`got "${pythonic}"`)
    expect(timestamp({ zone: 'Z' }).read(pythonic)).toBe('2025-04-02T16:59:25.331Z')
    expect(timestamp({ zone: 'Z' }).read('2025-04-02T16:59:25+02:00')).toBe('2025-04-02T14:59:25.000Z')
    expect(violationOf(timestamp({ zone: 'Z' }), 'yesterday')).toContain('got "yesterday"')
  })
})
