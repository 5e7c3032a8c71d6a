import { v0_2Client } from '../../../../src/dialects/v0.2/client.ts'
import { v0_2, v0_2Strict } from '../../../../src/dialects/v0.2/server.ts'
import { v0_3WireObjects } from './v0.3.ts'
import type { WireObjects } from './wire-objects.ts'

/** Mutual TLS came with 0.3. */
const cards = v0_3WireObjects.cards.filter((card) => !JSON.stringify(card).includes('mutualTLS'))
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
