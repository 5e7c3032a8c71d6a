import { describe, expect, it } from 'vitest'
import { jsonSchemaOf } from './json-schema.ts'
import type { Schema } from './schema.ts'
import { nullable, nullValue, number, titled, withDefault } from './strict.ts'
import { literal, tagged, taggedAs, union } from './unions.ts'
import {
  boolean,
  bytes,
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
} from './values.ts'

const closed = { additionalProperties: false }
const Circle = object({ radius: string() })

const scalars: readonly (readonly [Schema<unknown>, object])[] = [
  [string(), { type: 'string' }],
  [string({ min: 1, max: 3 }), { type: 'string', minLength: 1, maxLength: 3 }],
  [string({ pattern: '^a$', format: 'uri' }), { type: 'string', pattern: '^a$(?!\\n)', format: 'uri' }],
  [boolean(), { type: 'boolean' }],
  [boolean(true), { const: true }],
  [json(), {}],
  [struct(), { type: 'object' }],
  [nullValue(), { type: 'null' }],
  [bytes(), { type: 'string', contentEncoding: 'base64' }],
  [timestamp(), { type: 'string', format: 'date-time' }],
  [int32({ min: 1, max: 100 }), { type: 'integer', minimum: 1, maximum: 100 }],
  [number({ min: 0 }), { type: 'number', minimum: 0 }],
  [literal('user'), { const: 'user' }],
  [literal('user', 'agent'), { type: 'string', enum: ['user', 'agent'] }],
  [protoEnum('NONE', { red: 'RED', green: 'GREEN' }), { type: 'string', enum: ['RED', 'GREEN'] }],
  [nullable(string()), { anyOf: [{ type: 'string' }, { type: 'null' }] }],
  [list(string(), { max: 2 }), { type: 'array', items: { type: 'string' }, maxItems: 2 }],
  [map(boolean()), { type: 'object', additionalProperties: { type: 'boolean' } }],
]

it.each(scalars)('a schema is described by its keywords (%#)', (schema, keywords) => {
  expect(jsonSchemaOf(schema)).toEqual(keywords)
})

describe('an object', () => {
  it('an object lists its required members and those of which one is present', () => {
    const Content = object({ id: string(), title: optional(string()) }, { oneOf: { text: string(), data: json() } })
    expect(jsonSchemaOf(Content)).toEqual({
      type: 'object',
      properties: { id: { type: 'string' }, title: { type: 'string' }, text: { type: 'string' }, data: {} },
      required: ['id'],
      oneOf: [{ required: ['text'] }, { required: ['data'] }],
      ...closed,
    })
  })

  it('an object allows unknown members if it is open', () => {
    const Filter = object(
      { limit: optional(withDefault(number({ min: 1, max: 9, integer: true }), 9)) },
      { open: true },
    )
    const limit = { type: 'integer', minimum: 1, maximum: 9, default: 9 }
    expect(jsonSchemaOf(Filter)).toEqual({ type: 'object', properties: { limit } })
  })

  it('an object has the default of each member with implicit presence', () => {
    const Entry = object({ name: implicit(string()), isOpen: implicit(boolean()), tags: implicit(list(string())) })
    expect(jsonSchemaOf(Entry)).toMatchObject({
      properties: { name: { default: '' }, isOpen: { default: false }, tags: { default: [] } },
    })
  })
})

it('a tag is a constant member of each variant', () => {
  const tagOf = (name: string) => ({ properties: { kind: { const: name } } })
  expect(jsonSchemaOf(taggedAs('kind', 'circle', Circle))).toEqual({
    type: 'object',
    properties: { kind: { const: 'circle' }, radius: { type: 'string' } },
    required: ['kind', 'radius'],
    ...closed,
  })
  const Figure = tagged('kind', { circle: Circle, label: object({ text: optional(string()) }) })
  expect(jsonSchemaOf(Figure)).toMatchObject({
    oneOf: [
      { ...tagOf('circle'), required: ['kind', 'radius'] },
      { ...tagOf('label'), required: ['kind'] },
    ],
  })
})

it('a union is one of its variants', () => {
  const Result = union('ok', { true: object({ ok: boolean(true) }), false: object({ ok: boolean(false) }) })
  expect(jsonSchemaOf(Result)).toMatchObject({ type: 'object', oneOf: [{ required: ['ok'] }, { required: ['ok'] }] })
})

it('a title and a description come first', () => {
  const Radius = titled('Radius', string(), 'In metres.')
  expect(JSON.stringify(jsonSchemaOf(Radius))).toBe('{"title":"Radius","description":"In metres.","type":"string"}')
})
