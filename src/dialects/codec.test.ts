import fc, { type Arbitrary } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../base/json.ts'
import {
  carryCodec,
  decodeAnnotations,
  decodeBareStatus,
  encodeAnnotations,
  encodeBareStatus,
  id,
  unwrapData,
  wrapData,
} from './codec.ts'

const v0_3 = carryCodec('v0.3')
const v0_1 = carryCodec('v0.1')
const timestamp = '2025-09-01T08:00:00.000Z'

describe('an unknown state', () => {
  const status = decodeBareStatus({ state: 'unknown', timestamp }, v0_3.toCarry)

  it('an unknown state becomes working', () => {
    expect(status).toMatchObject({ state: 'working', timestamp })
  })

  it('an unknown state is encoded as unknown only by its v0_3 dialect, and only while the state has not changed', () => {
    expect(encodeBareStatus(status, v0_3.readCarry).state).toBe('unknown')
    expect(encodeBareStatus(status, v0_1.readCarry).state).toBe('working')
    expect(encodeBareStatus({ ...status, state: 'completed' }, v0_3.readCarry).state).toBe('completed')
  })
})

describe('the timestamp of a status', () => {
  it('a missing timestamp is written in no dialect', () => {
    const status = decodeBareStatus({ state: 'working' }, v0_3.toCarry)
    for (const { readCarry } of [v0_3, v0_1]) expect(encodeBareStatus(status, readCarry).timestamp).toBeUndefined()
  })

  it('a received timestamp equal to the placeholder is written again', () => {
    const status = decodeBareStatus({ state: 'working', timestamp: '1970-01-01T00:00:00.000Z' }, v0_3.toCarry)
    expect(encodeBareStatus(status, v0_3.readCarry).timestamp).toBe('1970-01-01T00:00:00.000Z')
  })
})

it('a status that the model can express has no carry', () => {
  expect(decodeBareStatus({ state: 'working', timestamp }, v0_3.toCarry)).toStrictEqual({ state: 'working', timestamp })
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
