import fc, { type Arbitrary } from 'fast-check'
import type { JsonObject } from '../../../src/base/json.ts'
import { isObject } from '../../../src/base/json.ts'

/** Cards of which some have schemes of a kind that nobody knows, which may also be required. */
export function withStrangeSchemes(
  cards: Arbitrary<JsonObject>,
  strange: readonly JsonObject[],
): Arbitrary<JsonObject> {
  const schemes = fc.dictionary(fc.constantFrom('strange', 'odd', 'a'), fc.constantFrom(...strange))
  return fc.tuple(cards, schemes).map(([card, more]) => {
    const { securitySchemes = {} } = card
    if (Object.keys(more).length === 0 || !isObject(securitySchemes)) return card
    return { ...card, securitySchemes: { ...securitySchemes, ...more } }
  })
}
