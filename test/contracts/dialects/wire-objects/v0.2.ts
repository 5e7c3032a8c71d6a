import type { JsonObject } from '../../../../src/core/base/json.ts'
import { v0_2Client } from '../../../../src/core/dialects/v0.2/client.ts'
import { v0_2, v0_2Strict } from '../../../../src/core/dialects/v0.2/server.ts'
import { v0_3WireObjects } from './v0.3.ts'
import type { WireObjects } from './wire-objects.ts'

/** Cards of 0.3 without what came with 0.3: mutual TLS, the metadata of OAuth servers, signatures, security of skills. */
const cards = v0_3WireObjects.cards.map(withoutNewMembers).filter((card) => !JSON.stringify(card).includes('mutualTLS'))
const { listTasks: _, ...requests } = v0_3WireObjects.requests
const { listTasks: __, ...results } = v0_3WireObjects.results

export const v0_2WireObjects: WireObjects = {
  servers: [v0_2, v0_2Strict],
  client: v0_2Client,
  requests,
  results: { ...results, getExtendedCard: cards },
  events: v0_3WireObjects.events,
  cards,
}

function withoutNewMembers(wire: JsonObject): JsonObject {
  const { signatures: _, ...card } = JSON.parse(
    JSON.stringify(wire, (name, value) => (name === 'oauth2MetadataUrl' ? undefined : value)),
  ) as JsonObject
  if (!Array.isArray(card.skills)) return card
  return { ...card, skills: card.skills.map(({ security: _, ...skill }) => skill) }
}
