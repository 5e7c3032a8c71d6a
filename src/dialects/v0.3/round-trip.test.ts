import fc from 'fast-check'
import { expect, it } from 'vitest'
import { arbitraryObjectOf, arbitraryOf } from '../../../test/support/schema/arbitrary-of.ts'
import { expectRoundTrip } from '../../../test/support/schema/expect-round-trip.ts'
import type { JsonObject } from '../../base/json.ts'
import { decodeCard, encodeCard } from './card.ts'
import { AgentCard, SecurityScheme } from './schemas.ts'

it('a card comes back as it went although names of its schemes can be taken for others', () => {
  const names = fc.constantFrom('a', 'b', 'a.password', 'a.clientCredentials', 'a.password.implicit')
  const scopes = fc.array(fc.constantFrom('read', 'write'), { maxLength: 2 })
  const requirements = fc.array(fc.dictionary(names, scopes), { maxLength: 3 })
  const cards = fc
    .tuple(arbitraryObjectOf(AgentCard), fc.dictionary(names, arbitraryOf(SecurityScheme)), requirements)
    .map(([card, securitySchemes, security]): JsonObject => ({ ...card, securitySchemes, security }))
  expectRoundTrip(cards, (card) => encodeCard(decodeCard(card)))
})

it('a card that 0.3 never readCarry says the same after it was written in 0.3', () => {
  fc.assert(
    fc.property(arbitraryOf(AgentCard), (given) => {
      const { carry: _, ...card } = decodeCard(given)
      const { carry: __, ...again } = decodeCard(encodeCard(card))
      expect(again).toEqual(card)
    }),
  )
})
