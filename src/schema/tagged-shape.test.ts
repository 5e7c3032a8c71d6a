import { describe, expect, expectTypeOf, it } from 'vitest'
import { schemaOf } from '../../test/support/schema/schema-of.ts'
import { violationOf } from '../../test/support/schema/violation-of.ts'
import { object, optional } from './object.ts'
import { type Infer, list, string } from './schema.ts'
import { marked, tagged, word } from './tagged.ts'

const Circle = object({ radius: string() })
const Figure = tagged('kind', { circle: Circle, label: object({ text: optional(string()) }) })

it('a word is one of those that are known', () => {
  expect(word('user', 'agent').read('agent')).toBe('agent')
  expect(violationOf(word('user', 'agent'), 'USER')).toBe('expected one of user, agent, got "USER"')
  expect(violationOf(word('user'), undefined)).toBe('expected "user", got nothing')
  expect(schemaOf(word('user', 'agent'))).toEqual({ enum: ['user', 'agent'] })
})

describe('a marked object', () => {
  const Marked = marked('kind', 'circle', Circle)

  it('is read without its mark', () => {
    expect(Marked.read({ kind: 'circle', radius: '7' })).toStrictEqual({ radius: '7' })
  })

  it('must have its mark', () => {
    expect(violationOf(Marked, { radius: '7' })).toBe('expected "kind" to be "circle", got nothing')
    expect(violationOf(Marked, { kind: 'square' })).toBe('expected "kind" to be "circle", got "square"')
    expect(violationOf(Marked, [])).toBe('expected an object, got a list')
    expect(violationOf(Marked, { kind: 'circle' })).toBe('radius: expected a string, got nothing')
  })

  it('has its mark in the JSON Schema', () => {
    expect(schemaOf(Marked)).toEqual({
      type: 'object',
      properties: { kind: { const: 'circle' }, radius: { type: 'string' } },
      required: ['kind', 'radius'],
    })
  })
})

describe('a tagged object', () => {
  it('is read as an object that has it under the name of its kind', () => {
    expect(Figure.read({ kind: 'circle', radius: '7' })).toStrictEqual({ circle: { radius: '7' } })
    expect(Figure.read({ kind: 'label' })).toStrictEqual({ label: {} })
    expectTypeOf<Infer<typeof Figure>>().toExtend<{ circle: { radius: string } } | { label: { text?: string } }>()
  })

  it('is of a kind that is known', () => {
    expect(violationOf(list(Figure), [{}])).toBe('[0]: expected "kind" to be one of circle, label, got nothing')
    expect(violationOf(Figure, { kind: 'toString' })).toBe('expected "kind" to be one of circle, label, got "toString"')
    expect(violationOf(Figure, { kind: 'circle' })).toBe('radius: expected a string, got nothing')
  })

  it('has one JSON Schema for each kind', () => {
    expect(schemaOf(Figure)).toMatchObject({
      oneOf: [
        { properties: { kind: { const: 'circle' } }, required: ['kind', 'radius'] },
        { properties: { kind: { const: 'label' } }, required: ['kind'] },
      ],
    })
  })
})
