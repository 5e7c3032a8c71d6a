import { isList, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { v0_1 } from './v0.1/server.ts'
import { v0_3 } from './v0.3/server.ts'
import { v0_3Proto } from './v0.3-proto/server.ts'
import { v1_0 } from './v1.0/server.ts'

/**
 * `hybrid` is a card of 1.0 that speakers of 0.2 and 0.3 read as theirs; `legacy` is the same for those who still ask
 * at the old place, with what 0.1 wants to know.
 */
export type CardFormat = 'hybrid' | 'legacy' | '1.0' | '0.3'

export function encodeCardAs(form: CardFormat, card: AgentCard): JsonObject {
  switch (form) {
    case '1.0':
      return v1_0.encodeCard(card)
    case '0.3':
      return v0_3.encodeCard(card)
    case 'hybrid': {
      const newest = v1_0.encodeCard(card)
      return speaks(card, '0.3') || speaks(card, '0.2') ? union(newest, v0_3.encodeCard(card)) : newest
    }
    case 'legacy': {
      const hybrid = encodeCardAs('hybrid', card)
      const { authentication } = speaks(card, '0.1') ? v0_1.encodeCard(card) : {}
      return authentication === undefined ? hybrid : { ...hybrid, authentication }
    }
  }
}

/** Every form in which a card is told as the answer to a call, by the versions that it names. */
export function extendedCardEncodings(card: AgentCard): readonly JsonObject[] {
  const newest = v1_0.encodeCard(card)
  if (!speaks(card, '0.3') && !speaks(card, '0.2')) return [newest]
  return [newest, v0_3.encodeCard(card), v0_3Proto.encodeCard(card)]
}

function speaks({ interfaces }: AgentCard, version: string): boolean {
  return interfaces.some(({ protocolVersion }) => protocolVersion === version)
}

/** The members of both. The dialects share no member of different meaning, so that where both have one it is the same. */
function union(one: JsonObject, other: JsonObject): JsonObject {
  const all: Record<string, Json> = { ...other, ...one }
  for (const [key, value] of Object.entries(other)) {
    const mine = one[key]
    if (mine !== undefined) all[key] = unite(mine, value)
  }
  return all
}

function unite(mine: Json, theirs: Json): Json {
  if (isList(mine) && isList(theirs) && mine.length === theirs.length) {
    return mine.map((item, n) => unite(item, theirs[n] ?? null))
  }
  return isObject(mine) && isObject(theirs) ? union(mine, theirs) : mine
}
