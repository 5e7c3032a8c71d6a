import type { Agent } from '../agent/agent.ts'
import { v1_0 } from '../dialects/v1.0/index.ts'
import { etagOf, matches } from '../http/etag.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'
import { type OriginOptions, originOf } from '../http/forwarded.ts'
import { cardOf } from './card.ts'

/** Callers choose the origin they come by; so many different ones are remembered. */
const maxOrigins = 64

/** The card as a page: with the address under which the caller came, and cacheable. */
export function createCardPage(agent: Agent, path: string, options: OriginOptions): (incoming: Incoming) => Outgoing {
  const pages = new Map<string, { readonly body: string; readonly etag: string }>()

  function pageFor(origin: string) {
    const url = `${origin}${path}`
    const card = cardOf(agent, [{ url, binding: 'JSONRPC', protocolVersion: v1_0.version }])
    const body = JSON.stringify(v1_0.encodeCard(card))
    const page = { body, etag: etagOf(body) }
    if (pages.size >= maxOrigins) pages.clear()
    pages.set(origin, page)
    return page
  }

  return (incoming) => {
    const origin = originOf(incoming, options)
    const { body, etag } = pages.get(origin) ?? pageFor(origin)
    const headers = { 'cache-control': 'public, max-age=300', vary: 'A2A-Version', etag }
    if (matches(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body }
  }
}
