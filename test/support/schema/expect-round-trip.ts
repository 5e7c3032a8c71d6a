import fc, { type Arbitrary } from 'fast-check'
import { expect } from 'vitest'
import type { Json } from '../../../src/core/base/json.ts'

/** Expects that every value survives as the same JSON, regardless of member order. */
export function expectRoundTrip(values: Arbitrary<Json>, thereAndBack: (wire: Json) => unknown): void {
  fc.assert(
    fc.property(values, (value) => {
      const text = JSON.stringify(value)
      expect(JSON.parse(JSON.stringify(thereAndBack(JSON.parse(text))))).toEqual(JSON.parse(text))
    }),
  )
}
