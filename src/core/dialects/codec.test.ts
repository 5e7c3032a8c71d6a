import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../base/json.ts'
import type { TaskState } from '../protocol/model.ts'
import { decodeState as decode, encodeState as encode, id, type StateFields, type Substitutes } from './codec.ts'
import { decodeAnnotations, encodeAnnotations, unwrapData, wrapData } from './legacy-codec.ts'

describe('a state that a dialect does not have', () => {
  const substitutes: Substitutes<'unknown'> = { unknown: { wireState: 'failed', name: 'UNKNOWN' } }
  const encodeState = (fields: StateFields<TaskState>) => encode(substitutes, fields)
  const decodeState = (fields: StateFields<TaskState>) => decode(substitutes, fields)

  it('the state becomes its substitute, and is read from the metadata again', () => {
    const encoded = encodeState({ state: 'unknown', metadata: { k: 1 } })
    expect(encoded).toEqual({ state: 'failed', metadata: { k: 1, 'a2a.state': 'UNKNOWN' } })
    expect(decodeState(encoded)).toEqual({ state: 'unknown', metadata: { k: 1 } })
    expect(decodeState(encodeState({ state: 'unknown' }))).toEqual({ state: 'unknown', metadata: undefined })
  })

  it('other states and other metadata stay as they are', () => {
    const others: readonly (JsonObject | undefined)[] = [undefined, { k: 1 }, { 'a2a.state': 'OTHER' }]
    for (const metadata of others) {
      expect(encodeState({ state: 'failed', metadata })).toEqual({ state: 'failed', metadata })
      expect(decodeState({ state: 'failed', metadata })).toEqual({ state: 'failed', metadata })
    }
    const metadata = { 'a2a.state': 'UNKNOWN' }
    expect(decodeState({ state: 'completed', metadata })).toEqual({ state: 'completed', metadata })
  })
})

it('an id has 1 to 256 characters', () => {
  expect(id.read('x')).toBe('x')
  expect(id.read('ü'.repeat(256))).toHaveLength(256)
  expect(() => id.read('')).toThrow('expected a string of 1 to 256 characters, got 0')
  expect(() => id.read('x'.repeat(257))).toThrow('expected a string of 1 to 256 characters, got 257')
  expect(() => id.read(7)).toThrow('expected a string of 1 to 256 characters, got a number')
})

it('an id has no character that a log or a database could change', () => {
  for (const text of ['a\nb', '\u0000', '\u007f', '\u0085', '\ud800', 'x\udc00']) {
    expect(() => id.read(text)).toThrow('control characters')
  }
  expect(id.read('task 7 / 🦜')).toBe('task 7 / 🦜')
})

const json = fc.constantFrom<Json>(true, false, '', 'x', 7, null, { value: 1 }, [])
const metadata = fc.dictionary(fc.constantFrom('a2a.mediaType', 'a2a.filename', 'data_part_compat', 'k'), json)
const objects: Arbitrary<JsonObject> = fc.dictionary(fc.constantFrom('value', 'other'), json)
const names = fc.string({ minLength: 1 })
const annotations = fc.record(
  { mediaType: names, filename: names, metadata: fc.record({ k: json }) },
  { requiredKeys: [] },
)

it('decoded data and annotations are encoded unchanged, whatever keys other writers have set', () => {
  fc.assert(
    fc.property(objects, metadata, (data, metadata) => {
      const { data: unwrapped, ...rest } = unwrapData({ data, metadata })
      expect(wrapData(unwrapped, rest)).toEqual({ data, metadata })
      expect(encodeAnnotations(decodeAnnotations(metadata))).toEqual(metadata)
    }),
  )
})

it('encoded data and annotations are decoded unchanged', () => {
  fc.assert(
    fc.property(json, annotations, (data, annotations) => {
      expect(unwrapData(wrapData(data, annotations))).toEqual({ data, ...annotations })
      expect(decodeAnnotations(encodeAnnotations(annotations))).toEqual(annotations)
    }),
  )
})

it('data and annotations that need no metadata get none', () => {
  expect(wrapData({ k: 1 }, {})).toEqual({ data: { k: 1 } })
  expect(encodeAnnotations({ mediaType: '', filename: '' })).toBeUndefined()
})
