import { defined, type JsonObject } from '../core/base/json.ts'
import type { Fetch } from '../core/http/fetch.ts'
import type { AgentCard, AgentInterface, SecurityScheme } from '../core/protocol/card.ts'
import type { AgentCards, ForeignScheme, ForeignSummary } from './contract.ts'
import type { WireRequest, WireSource } from './contract-tools.ts'
import { invalid } from './failures.ts'

/** An agent of another server, as its card and the connection to it describe it. */
export interface ForeignAgent {
  /** How the operator named it. */
  readonly reference: string
  /** The address of its server. */
  readonly url: string
  /** The card as the agent sent it. */
  readonly wireCard: JsonObject
  readonly card: AgentCard
  /** Violations of the schema of the card's version. */
  readonly violations: readonly string[]
  readonly signature: AgentCards['signature']
  /** A `fetch` with the credentials of the connection, whose requests the wire log keeps. */
  readonly fetchAs: (source: WireSource) => Fetch
}

export function foreignSummary({
  reference,
  card: { interfaces, securitySchemes = {} },
}: ForeignAgent): ForeignSummary {
  return {
    reference,
    interfaces: interfaces.map(({ binding, protocolVersion, url }) => ({ binding, version: protocolVersion, url })),
    schemes: Object.entries(securitySchemes).map(([name, scheme]) => schemeOf(name, scheme)),
  }
}

function schemeOf(name: string, scheme: SecurityScheme): ForeignScheme {
  const { description } = scheme
  switch (scheme.type) {
    case 'http': {
      const type = scheme.scheme.toLowerCase()
      return defined({ name, description, type: type === 'bearer' || type === 'basic' ? type : ('other' as const) })
    }
    case 'api-key':
      return defined({ name, description, type: 'api-key' as const })
    case 'oauth2': {
      const { flow } = scheme
      const isSupported = flow.type === 'authorization-code' || flow.type === 'client-credentials'
      const server = 'tokenUrl' in flow ? originsOf(flow.tokenUrl)[0] : undefined
      return defined({ name, description, server, type: isSupported ? ('oauth' as const) : ('other' as const) })
    }
    case 'openid':
      return defined({ name, description, server: originsOf(scheme.url)[0], type: 'oauth' as const })
    case 'mutual-tls':
      return defined({ name, description, type: 'other' as const })
  }
}

/** The card as it was received: nothing is added to it. */
export function foreignCards({ wireCard, card: { interfaces }, violations, signature }: ForeignAgent): AgentCards {
  const isCurrent = Array.isArray(wireCard.supportedInterfaces)
  const version = isCurrent ? '1.0' : (interfaces[0]?.protocolVersion ?? '')
  return { cards: [{ version, card: wireCard }], violations, signature }
}

/** The address of the first interface that the card names for a version and a binding. Throws if there is none. */
export function foreignAddress(
  { card: { interfaces } }: ForeignAgent,
  version: string,
  binding: string,
): AgentInterface {
  const found = interfaces.find((each) => each.binding === binding && each.protocolVersion.startsWith(version))
  if (found) return found
  const names = interfaces.map((each) => `${each.binding} ${each.protocolVersion}`).join(', ')
  throw invalid('binding', `the card names no ${binding} interface of A2A ${version}, but ${names || 'none at all'}`)
}

/** Only servers that the card names are called: requests carry the credentials of the connection. */
export function requireForeignUrl({ url: own, card: { interfaces } }: ForeignAgent, url: string): void {
  const origins = new Set([own, ...interfaces.map((each) => each.url)].flatMap(originsOf))
  if (URL.canParse(url) && origins.has(new URL(url).origin)) return
  throw invalid('url', `expected an address at ${[...origins].join(', ')}, which the card names`)
}

/** The answer to a raw request: its head first, then its texts. */
export async function* sendForeign(
  { fetchAs }: ForeignAgent,
  { method, url, headers, body }: WireRequest,
  signal: AbortSignal,
) {
  const hasBody = method !== 'GET' && method !== 'HEAD' && body !== ''
  const response = await fetchAs('wire')(url, { method, headers, signal, ...(hasBody && { body }) })
  yield { status: response.status, headers: Object.fromEntries(response.headers) }
  if (!response.body) return
  const decoder = new TextDecoder()
  for await (const bytes of response.body) yield { text: decoder.decode(bytes, { stream: true }) }
}

function originsOf(url: string): readonly string[] {
  return URL.canParse(url) ? [new URL(url).origin] : []
}
