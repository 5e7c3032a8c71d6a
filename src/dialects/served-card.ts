import { isList, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { v0_1 } from './v0.1/server.ts'
import { v0_3 } from './v0.3/server.ts'
import { v0_3Proto } from './v0.3-proto/server.ts'
import { v1_0 } from './v1.0/server.ts'

/**
 * The format of a served card. `hybrid` is a 1.0 card that 0.2 and 0.3 clients can read as well. `legacy` is the same for
 * the old well-known path, with the authentication that 0.1 clients expect.
 */
export type CardFormat = 'hybrid' | 'legacy' | '1.0' | '0.3'

export function encodeCardAs(format: CardFormat, card: AgentCard): JsonObject {
  switch (format) {
    case '1.0':
      return v1_0.encodeCard(card)
    case '0.3':
      return v0_3.encodeCard(card)
    case 'hybrid': {
      const v1_0Card = v1_0.encodeCard(card)
      return hasV0_2OrV0_3(card) ? mergeObjects(v1_0Card, v0_3.encodeCard(card)) : v1_0Card
    }
    case 'legacy': {
      const hybrid = encodeCardAs('hybrid', card)
      const { authentication } = hasVersion(card, '0.1') ? v0_1.encodeCard(card) : {}
      return authentication === undefined ? hybrid : { ...hybrid, authentication }
    }
  }
}

/** Returns the card in every encoding in which an operation can return it, by the versions that it names. */
export function extendedCardEncodings(card: AgentCard): readonly JsonObject[] {
  const v1_0Card = v1_0.encodeCard(card)
  return hasV0_2OrV0_3(card) ? [v1_0Card, v0_3.encodeCard(card), v0_3Proto.encodeCard(card)] : [v1_0Card]
}

function hasV0_2OrV0_3(card: AgentCard): boolean {
  return hasVersion(card, '0.3') || hasVersion(card, '0.2')
}

function hasVersion({ interfaces }: AgentCard, version: string): boolean {
  return interfaces.some(({ protocolVersion }) => protocolVersion === version)
}

/** The members of both. No member has different meanings in the two dialects, so shared members are equal. */
function mergeObjects(first: JsonObject, second: JsonObject): JsonObject {
  const merged: Record<string, Json> = { ...second, ...first }
  for (const [key, value] of Object.entries(second)) {
    const member = first[key]
    if (member !== undefined) merged[key] = mergeValues(member, value)
  }
  return merged
}

function mergeValues(first: Json, second: Json): Json {
  if (isList(first) && isList(second) && first.length === second.length) {
    return first.map((item, index) => mergeValues(item, second[index] ?? null))
  }
  return isObject(first) && isObject(second) ? mergeObjects(first, second) : first
}
