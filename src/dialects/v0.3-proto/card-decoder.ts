import type { AgentCard } from '../../protocol/card.ts'
import type { JsonObject } from '../../protocol/model.ts'
import { decodeOlderCard, type OlderCard, type Secured } from '../decode-older-card.ts'
import { readResult } from '../read-params.ts'
import type { Shape } from '../shape.ts'
import { interfacesOf } from '../v0.3/interfaces.ts'
import { Addresses } from './card-schemas.ts'
import { carrying } from './carry.ts'

export function cardDecoder<C extends OlderCard>(shape: Shape<C>, securedBy: (card: C) => Secured) {
  return (given: unknown): AgentCard => {
    const card = readResult(shape, given)
    const addresses = readResult(Addresses, given)
    return {
      ...decodeOlderCard(card, interfacesOf(addresses, '0.3'), securedBy(card)),
      ...carrying({ addresses: addresses as JsonObject }),
    }
  }
}
