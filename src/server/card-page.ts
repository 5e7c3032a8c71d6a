import { type CardForm, encodeCardAs } from '../dialects/cards.ts'
import { etagOf, matches } from '../http/etag.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'
import { type OriginOptions, originOf } from '../http/forwarded.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { CardSigner } from './card-signer.ts'

export type { CardForm }

/** Since 0.3, and before. */
export const cardPaths: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** Callers choose the origin they come by; so many different ones are remembered. */
const maxPages = 64

export interface CardPageOptions extends OriginOptions {
  readonly cards?: CardForm
  /** Without one, cards are not signed. */
  readonly signer?: CardSigner | undefined
}

interface Page {
  readonly body: string
  readonly etag: string
}

/** The card as a page: with the address under which the caller came, and cacheable. */
export function createCardPage(
  cardAt: (origin: string) => AgentCard,
  { cards = 'hybrid', signer, ...options }: CardPageOptions,
): (incoming: Incoming) => Promise<Outgoing> {
  const pages = new Map<string, Page>()

  async function pageFor(key: string, origin: string, form: CardForm): Promise<Page> {
    const card = encodeCardAs(form, cardAt(origin))
    const page = signer ? signedPage(card, await signer.signWire(card, origin), signer.keyName()) : plainPage(card)
    if (pages.size >= maxPages) pages.clear()
    pages.set(key, page)
    return page
  }

  return async (incoming) => {
    const origin = originOf(incoming, options)
    const form = incoming.path === cardPaths[1] && cards === 'hybrid' ? 'legacy' : cards
    const key = `${form} ${origin} ${signer?.keyName() ?? ''}`
    const { body, etag } = pages.get(key) ?? (await pageFor(key, origin, form))
    const headers = { 'cache-control': 'public, max-age=300', vary: 'A2A-Version', etag }
    if (matches(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body }
  }
}

function plainPage(card: JsonObject): Page {
  const body = JSON.stringify(card)
  return { body, etag: etagOf(body) }
}

/** Two signatures of the same differ, also between replicas: the tag is a weak one, of what was signed, and by whom. */
function signedPage(card: JsonObject, signed: JsonObject, keyName: string): Page {
  return { body: JSON.stringify(signed), etag: `W/${etagOf(`${keyName} ${JSON.stringify(card)}`)}` }
}
