import type { CardKey, DetachedSignature } from '../auth/card-signature/sign-card.ts'
import type { KeyRing } from '../auth/key-ring.ts'
import { BoundedMap } from '../base/bounded-map.ts'
import type { JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { type CardFormat, encodeCardAs, extendedCardEncodings } from '../dialects/served-card.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'
import { isLoopback, type OriginOptions, originOf } from '../http/origin.ts'
import { etagOf, matches } from '../http/response-headers.ts'
import type { AgentCard } from '../protocol/card.ts'

/** Callers choose the origin they come by; so many versions are remembered. */
const maxKnown = 64

/** Callers choose the origin they come by; so many different ones are remembered. */
const maxPages = 64

/** The public keys as a JWK Set (RFC 7517). Whoever meets a key that is not among them asks again at once. */
export function createJwksPage(keys: Pick<KeyRing, 'published'>): (incoming: Incoming) => Promise<Outgoing> {
  return async (incoming) => {
    const body = JSON.stringify({ keys: await keys.published() })
    const etag = etagOf(body)
    const headers = { 'cache-control': 'public, max-age=300', etag }
    if (matches(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/jwk-set+json' }, body }
  }
}

export interface CardSignerOptions {
  readonly keys: Pick<KeyRing, 'current'>
  readonly publicUrl?: string | undefined
  readonly logger: Logger
}

/** Signs what an agent says of itself, each version of it once. */
export interface CardSigner {
  /** The name of the key that signs now: with another one, a card is another version. */
  keyName(): string
  /** The card as it is sent, in whatever form, with signatures of exactly that. */
  signWire(wire: JsonObject, origin: string): Promise<JsonObject>
  /** A card that is still to be put into the form of some dialect. */
  signCard(card: AgentCard, origin: string): Promise<AgentCard>
}

export function createCardSigner({ keys, publicUrl, logger }: CardSignerOptions): CardSigner {
  const known = new BoundedMap<string, Promise<readonly DetachedSignature[]>>(maxKnown)
  let hasWarned = false

  /** Otherwise anybody could have a card signed that leads to a host of their own, by asking for it in that name. */
  function maySign(origin: string): boolean {
    if (publicUrl !== undefined || isLoopback(new URL(origin).hostname)) return true
    if (!hasWarned) logger.warn({ origin }, 'cards are not signed: publicUrl must say where the agent is reached')
    hasWarned = true
    return false
  }

  function signaturesOf({ signatures: _, ...wire }: JsonObject, origin: string): Promise<readonly DetachedSignature[]> {
    const { key, kid, alg } = keys.current()
    const version = `${kid} ${origin} ${JSON.stringify(wire)}`
    const before = known.get(version)
    if (before) return before
    const signatures = sign(wire, { key, kid, alg, jku: `${origin}${jwksPath}` })
    known.set(version, signatures)
    signatures.catch(() => known.delete(version))
    return signatures
  }

  return {
    keyName: () => keys.current().kid,
    async signWire(wire, origin) {
      return maySign(origin) ? { ...wire, signatures: await signaturesOf(wire, origin) } : wire
    },
    async signCard(card, origin) {
      if (!maySign(origin)) return card
      const signed = await Promise.all(extendedCardEncodings(card).map((wire) => signaturesOf(wire, origin)))
      return { ...card, signatures: signed.flat() }
    },
  }
}

export interface CardPageOptions extends OriginOptions {
  readonly cards?: CardFormat
  /** Without one, cards are not signed. */
  readonly signer?: CardSigner | undefined
}

/** The card as a page: with the address under which the caller came, and cacheable. */
export function createCardPage(
  cardAt: (origin: string) => AgentCard,
  { cards = 'hybrid', signer, ...options }: CardPageOptions,
): (incoming: Incoming) => Promise<Outgoing> {
  const pages = new BoundedMap<string, Page>(maxPages)

  async function pageFor(key: string, origin: string, form: CardFormat): Promise<Page> {
    const card = encodeCardAs(form, cardAt(origin))
    const page = signer ? signedPage(card, await signer.signWire(card, origin), signer.keyName()) : plainPage(card)
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

/** Where the keys are by which others know the signatures of an agent: of its card, and of what it pushes. */
export const jwksPath = '/.well-known/jwks.json'

/** Since 0.3, and before. */
export const cardPaths: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** Only those who sign load what it needs. */
async function sign(wire: JsonObject, key: CardKey): Promise<readonly DetachedSignature[]> {
  const { cardSignatures } = await import('../auth/card-signature/sign-card.ts')
  return await cardSignatures(wire, key)
}

interface Page {
  readonly body: string
  readonly etag: string
}

/** Two signatures of the same differ, also between replicas: the tag is a weak one, of what was signed, and by whom. */
function signedPage(card: JsonObject, signed: JsonObject, keyName: string): Page {
  return { body: JSON.stringify(signed), etag: `W/${etagOf(`${keyName} ${JSON.stringify(card)}`)}` }
}

function plainPage(card: JsonObject): Page {
  const body = JSON.stringify(card)
  return { body, etag: etagOf(body) }
}

export type { CardFormat }
