import { type CardForm, encodeCardAs } from '../dialects/cards.ts'
import { etagOf, matches } from '../http/etag.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'
import { type OriginOptions, originOf } from '../http/forwarded.ts'
import type { AgentCard } from '../protocol/card.ts'

export type { CardForm }

/** Since 0.3, and before. */
export const cardPaths: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** Callers choose the origin they come by; so many different ones are remembered. */
const maxPages = 64

export interface CardPageOptions extends OriginOptions {
  readonly cards?: CardForm
}

/** The card as a page: with the address under which the caller came, and cacheable. */
export function createCardPage(
  cardAt: (origin: string) => AgentCard,
  { cards = 'hybrid', ...options }: CardPageOptions,
): (incoming: Incoming) => Outgoing {
  const pages = new Map<string, { readonly body: string; readonly etag: string }>()

  function pageFor(key: string, origin: string, form: CardForm) {
    const body = JSON.stringify(encodeCardAs(form, cardAt(origin)))
    const page = { body, etag: etagOf(body) }
    if (pages.size >= maxPages) pages.clear()
    pages.set(key, page)
    return page
  }

  return (incoming) => {
    const origin = originOf(incoming, options)
    const form = incoming.path === cardPaths[1] && cards === 'hybrid' ? 'legacy' : cards
    const key = `${form} ${origin}`
    const { body, etag } = pages.get(key) ?? pageFor(key, origin, form)
    const headers = { 'cache-control': 'public, max-age=300', vary: 'A2A-Version', etag }
    if (matches(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body }
  }
}
