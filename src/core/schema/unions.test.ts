import { describe, expect, expectTypeOf, it } from 'vitest'
import { violationOf } from '../../../test/support/schema/violation-of.ts'
import type { Infer } from './schema.ts'
import { literal, tagged, taggedAs, union } from './unions.ts'
import { boolean, list, object, optional, string } from './values.ts'

const Circle = object({ radius: string() })
const Figure = tagged('kind', { circle: Circle, label: object({ text: optional(string()) }) })

it('a literal is one of its values', () => {
  expect(literal('user', 'agent').read('agent')).toBe('agent')
  expect(violationOf(literal('user', 'agent'), 'USER')).toBe('expected one of user, agent, got "USER"')
  expect(violationOf(literal('user'), undefined)).toBe('expected "user", got nothing')
})

describe('an object with a fixed tag', () => {
  const TaggedCircle = taggedAs('kind', 'circle', Circle)

  it('an object with a fixed tag is read without its tag', () => {
    expect(TaggedCircle.read({ kind: 'circle', radius: '7' })).toStrictEqual({ radius: '7' })
  })

  it('an object with a fixed tag must have its tag', () => {
    expect(violationOf(TaggedCircle, { radius: '7' })).toBe('expected "kind" to be "circle", got nothing')
    expect(violationOf(TaggedCircle, { kind: 'square' })).toBe('expected "kind" to be "circle", got "square"')
    expect(violationOf(TaggedCircle, [])).toBe('expected an object, got a list')
    expect(violationOf(TaggedCircle, { kind: 'circle' })).toBe('radius: expected a string, got nothing')
  })
})

describe('a tagged object', () => {
  it('a tagged object is read as an object with one member, named like the tag', () => {
    expect(Figure.read({ kind: 'circle', radius: '7' })).toStrictEqual({ circle: { radius: '7' } })
    expect(Figure.read({ kind: 'label' })).toStrictEqual({ label: {} })
    expectTypeOf<Infer<typeof Figure>>().toExtend<{ circle: { radius: string } } | { label: { text?: string } }>()
  })

  it('a tagged object must have a known tag', () => {
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

  it('a union is read by the schema that its tag selects', () => {
    expect(Result.read({ ok: true, value: 'a' })).toStrictEqual({ ok: true, value: 'a' })
    expect(Result.read({ ok: false })).toStrictEqual({ ok: false })
    expectTypeOf<{ ok: false }>().toExtend<Infer<typeof Result>>()
  })

  it('a union must have a known tag of the right type', () => {
    expect(violationOf(Result, {})).toBe('ok: expected true or false')
    expect(violationOf(Result, { ok: 'toString' })).toBe('ok: expected true or false')
    expect(violationOf(Result, { ok: 'false' })).toBe('ok: expected false, got a string')
  })
})
