import type { AgentCard } from '../protocol/card.ts'
import type { JsonObject } from '../protocol/model.ts'
import { v1_0 } from './v1.0/index.ts'

export type CardForm = 'hybrid' | 'legacy' | '1.0' | '0.3'

export function encodeCardAs(_form: CardForm, card: AgentCard): JsonObject {
  return v1_0.encodeCard(card)
}
