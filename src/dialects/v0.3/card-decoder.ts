import type { AgentCard } from '../../protocol/card.ts'
import type { Json, JsonObject } from '../../protocol/model.ts'
import { decodeOlderCard, type OlderCard, type Secured } from '../decode-older-card.ts'
import { readResult } from '../read-params.ts'
import type { Shape } from '../shape.ts'
import { Addresses, OpenCard } from './card-schemas.ts'
import { carrying } from './carry.ts'
import { interfacesOf } from './interfaces.ts'

/** With the schemes that nobody here knows, as they came. */
export interface SecuredOrNot extends Secured {
  readonly unusable?: JsonObject
}

/** `version` is what an agent speaks that does not tell it. */
export function cardDecoder<C extends OlderCard>(
  version: string,
  shape: Shape<C>,
  securedBy: (card: C) => SecuredOrNot,
) {
  return (given: unknown): AgentCard => {
    const card = readResult(shape, given)
    const addresses = readResult(Addresses, given)
    const { stateTransitionHistory } = card.capabilities
    const { unusable = {}, ...secured } = securedBy(card)
    const kept: Record<string, Json> = { addresses: addresses as JsonObject }
    if (stateTransitionHistory !== undefined) kept.stateTransitionHistory = stateTransitionHistory
    if (Object.keys(unusable).length > 0) kept.unusable = unusable
    return { ...decodeOlderCard(card, interfacesOf(addresses, version), secured), ...carrying(kept) }
  }
}

/** Reads a card that does not say who may call. */
export function openCardDecoder(version: string) {
  return cardDecoder(version, OpenCard, () => ({}))
}
