import { describe, expect, expectTypeOf, it } from 'vitest'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { defaultsTo, implicit, object, optional } from './object.ts'
import { int32 } from './proto.ts'
import { boolean, type Infer, json, list, string } from './schema.ts'

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
