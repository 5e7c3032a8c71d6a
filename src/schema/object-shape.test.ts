import { describe, expect, expectTypeOf, it } from 'vitest'
import { schemaOf } from '../../test/support/schema/schema-of.ts'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { implicit, object, optional } from './object.ts'
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
  it('is read into a fresh one that has only the members it knows', () => {
    expect(Person.read({ fullName: 'Ada', extra: true })).toStrictEqual({ fullName: 'Ada' })
  })

  it('may spell a member as the proto does', () => {
    expect(Person.read({ full_name: 'Ada', nick_name: 'A' })).toStrictEqual({ fullName: 'Ada', nickName: 'A' })
  })

  it('may not have a member in both spellings', () => {
    const problem = violationOf(object({ person: Person }), { person: { fullName: 'Ada', full_name: null } })
    expect(problem).toBe('person: expected one spelling of a member, got fullName and full_name')
  })

  it('names the required member that is missing', () => {
    expect(violationOf(Person, {})).toBe('fullName: expected a string of 1 or more characters, got nothing')
    expect(violationOf(Person, { fullName: null })).toBe(
      'fullName: expected a string of 1 or more characters, got null',
    )
  })

  it('names the whole path to what is wrong', () => {
    const Group = object({ members: list(Person) })
    const problem = violationOf(object({ group: Group }), {
      group: { members: [{ fullName: 'Ada', friends: ['B', 1] }] },
    })
    expect(problem).toBe('group.members[0].friends[1]: expected a string, got a number')
  })

  it('is not a list, a text or null', () => {
    for (const value of [[], 'text', null]) expect(violationOf(Person, value)).toMatch(/^expected an object, got /)
  })
})

describe('an optional member', () => {
  it('is unset by being absent or null, and by nothing else', () => {
    expect(Person.read({ fullName: 'Ada', age: null })).toStrictEqual({ fullName: 'Ada' })
    expect(Person.read({ fullName: 'Ada', age: 0 })).toStrictEqual({ fullName: 'Ada', age: 0 })
  })

  it('that is implicit is unset also by the default of its type', () => {
    const defaults = { nickName: '', isGuest: false, luckyNumber: 0, friends: [] }
    expect(Person.read({ fullName: 'Ada', ...defaults })).toStrictEqual({ fullName: 'Ada' })
    expect(violationOf(Person, { fullName: 'Ada', nickName: 0 })).toBe('nickName: expected a string, got a number')
  })
})

describe('a choice', () => {
  it('is exactly one of its members', () => {
    expect(Content.read({ text: '', title: 'T' })).toStrictEqual({ title: 'T', text: '' })
    expect(Content.read({ raw_data: [1] })).toStrictEqual({ rawData: [1] })
    expect(violationOf(Content, {})).toBe('expected exactly one of text, rawData, got none of them')
    expect(violationOf(Content, { text: 'a', rawData: 1 })).toBe(
      'expected exactly one of text, rawData, got text and rawData',
    )
  })

  it('is not made by null, unless null is a value of the member', () => {
    expect(violationOf(Content, { text: null })).toBe('expected exactly one of text, rawData, got none of them')
    expect(Content.read({ rawData: null })).toStrictEqual({ rawData: null })
    expect(Content.read({ text: 'a', rawData: undefined })).toStrictEqual({ text: 'a' })
  })

  it('names the member that is wrong', () => {
    expect(violationOf(Content, { text: 5 })).toBe('text: expected a string, got a number')
  })
})

it('the type of a value comes from its shape', () => {
  expectTypeOf<Infer<typeof Person>>().toExtend<{
    readonly fullName: string
    readonly age?: number
    readonly friends?: readonly string[]
  }>()
  expectTypeOf<{ readonly fullName: string }>().toExtend<Infer<typeof Person>>()
  expectTypeOf<{ readonly text: string }>().toExtend<Infer<typeof Content>>()
  expectTypeOf<{ readonly title: string }>().not.toExtend<Infer<typeof Content>>()
})

it('the JSON Schema of a value comes from its shape', () => {
  expect(schemaOf(Content)).toEqual({
    type: 'object',
    properties: { title: { type: 'string' }, text: { type: 'string' }, rawData: {} },
    required: [],
    oneOf: [{ required: ['text'] }, { required: ['rawData'] }],
  })
  expect(schemaOf(Person)).toMatchObject({ required: ['fullName'] })
})
