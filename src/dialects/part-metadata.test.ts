import fc, { type Arbitrary } from 'fast-check'
import { expect, it } from 'vitest'
import type { Json, JsonObject } from '../base/json.ts'
import { decodeAnnotations, encodeAnnotations, unwrapData, wrapData } from './part-metadata.ts'

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
