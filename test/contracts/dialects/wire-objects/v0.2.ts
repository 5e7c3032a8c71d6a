import { v0_2Client } from '../../../../src/dialects/v0.2/client.ts'
import { v0_2, v0_2Strict } from '../../../../src/dialects/v0.2/server.ts'
import { of0_3 } from './v0.3.ts'
import type { WireObjects } from './wire-objects.ts'

/** Mutual TLS came with 0.3. */
const cards = of0_3.cards.filter((card) => !JSON.stringify(card).includes('mutualTLS'))
const { listTasks: _, ...requests } = of0_3.requests
const { listTasks: __, ...results } = of0_3.results

export const of0_2: WireObjects = {
  servers: [v0_2, v0_2Strict],
  client: v0_2Client,
  requests,
  results: { ...results, getExtendedCard: cards },
  events: of0_3.events,
  cards,
}
