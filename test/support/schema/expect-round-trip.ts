import fc, { type Arbitrary } from 'fast-check'
import { expect } from 'vitest'
import type { Json } from '../../../src/base/json.ts'

/** Every value comes back as the same JSON, whatever the order of its members. */
export function expectRoundTrip(values: Arbitrary<Json>, thereAndBack: (wire: Json) => unknown): void {
  fc.assert(
    fc.property(values, (value) => {
      const text = JSON.stringify(value)
      expect(JSON.parse(JSON.stringify(thereAndBack(JSON.parse(text))))).toEqual(JSON.parse(text))
    }),
  )
}
