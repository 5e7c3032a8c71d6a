import type { CardKey, DetachedSignature } from '../auth/card-signature/sign-card.ts'
import type { KeyRing } from '../auth/key-ring.ts'
import { BoundedMap } from '../base/bounded-map.ts'
import type { JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { type CardFormat, encodeCardAs, extendedCardEncodings } from '../dialects/served-card.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'
import { isLoopback, type OriginOptions, originOf } from '../http/origin.ts'
import { etagOf, matchesEtag } from '../http/response-headers.ts'
import type { AgentCard } from '../protocol/card.ts'

/** Paths of the card: since 0.3, and before. */
export const cardPaths: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json']

/** Path of the public keys that verify the signatures of an agent: of its card, and of the events that it pushes. */
export const jwksPath = '/.well-known/jwks.json'

/** Callers choose the origin of a card, so the number of cached pages and signatures must be bounded. */
const maxCached = 64

export interface CardPageOptions extends OriginOptions {
  readonly cards?: CardFormat
  /** Without a signer, cards are not signed. */
  readonly signer?: CardSigner | undefined
}

/** Serves the card, with the address that the caller used, and cacheable. */
export function createCardPage(
  cardAt: (origin: string) => AgentCard,
  { cards = 'hybrid', signer, ...options }: CardPageOptions,
): (incoming: Incoming) => Promise<Outgoing> {
  const pages = new BoundedMap<string, Page>(maxCached)

  async function createPage(key: string, origin: string, format: CardFormat): Promise<Page> {
    const card = encodeCardAs(format, cardAt(origin))
    const page = signer ? signedPage(card, await signer.signWire(card, origin), signer.keyName()) : unsignedPage(card)
    pages.set(key, page)
    return page
  }

  return async (incoming) => {
    const origin = originOf(incoming, options)
    const format = incoming.path === cardPaths[1] && cards === 'hybrid' ? 'legacy' : cards
    const key = `${format} ${origin} ${signer?.keyName() ?? ''}`
    const { body, etag } = pages.get(key) ?? (await createPage(key, origin, format))
    const headers = { 'cache-control': 'public, max-age=300', vary: 'A2A-Version', etag }
    if (matchesEtag(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body }
  }
}

/** Serves the public keys as a JWK Set (RFC 7517). Verifiers that meet an unknown key fetch it again at once. */
export function createJwksPage(keys: Pick<KeyRing, 'published'>): (incoming: Incoming) => Promise<Outgoing> {
  return async (incoming) => {
    const body = JSON.stringify({ keys: await keys.published() })
    const etag = etagOf(body)
    const headers = { 'cache-control': 'public, max-age=300', etag }
    if (matchesEtag(incoming.header('if-none-match'), etag)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/jwk-set+json' }, body }
  }
}

export interface CardSignerOptions {
  readonly keys: Pick<KeyRing, 'current'>
  readonly publicUrl?: string | undefined
  readonly logger: Logger
}

/** Signs cards, each distinct card once. */
export interface CardSigner {
  /** The name of the current key. A card signed with another key is another version of it. */
  keyName(): string
  /** Signs an encoded card, exactly as it is sent. */
  signWire(wire: JsonObject, origin: string): Promise<JsonObject>
  /** Signs a card that a dialect will encode later: once for each possible encoding. */
  signCard(card: AgentCard, origin: string): Promise<AgentCard>
}

export function createCardSigner({ keys, publicUrl, logger }: CardSignerOptions): CardSigner {
  const cached = new BoundedMap<string, Promise<readonly DetachedSignature[]>>(maxCached)
  let hasWarned = false

  /**
   * Without `publicUrl` the origin comes from the request: a caller could get a signed card that points to its own host
   * by sending that name.
   */
  function maySign(origin: string): boolean {
    if (publicUrl !== undefined || isLoopback(new URL(origin).hostname)) return true
    if (!hasWarned) logger.warn({ origin }, 'cards are not signed: publicUrl must say where the agent is reached')
    hasWarned = true
    return false
  }

  function signaturesOf({ signatures: _, ...wire }: JsonObject, origin: string): Promise<readonly DetachedSignature[]> {
    const { key, kid, alg } = keys.current()
    const version = `${kid} ${origin} ${JSON.stringify(wire)}`
    const before = cached.get(version)
    if (before) return before
    const signatures = sign(wire, { key, kid, alg, jku: `${origin}${jwksPath}` })
    cached.set(version, signatures)
    signatures.catch(() => cached.delete(version))
    return signatures
  }

  return {
    keyName: () => keys.current().kid,
    async signWire(wire, origin) {
      return maySign(origin) ? { ...wire, signatures: await signaturesOf(wire, origin) } : wire
    },
    async signCard(card, origin) {
      if (!maySign(origin)) return card
      const signatures = await Promise.all(extendedCardEncodings(card).map((wire) => signaturesOf(wire, origin)))
      return { ...card, signatures: signatures.flat() }
    },
  }
}

/** Loads the signing code on first use: most agents do not sign. */
async function sign(wire: JsonObject, key: CardKey): Promise<readonly DetachedSignature[]> {
  const { cardSignatures } = await import('../auth/card-signature/sign-card.ts')
  return await cardSignatures(wire, key)
}

interface Page {
  readonly body: string
  readonly etag: string
}

/**
 * Two signatures of the same card differ, also between replicas. The ETag is therefore weak, and made of the card and
 * the name of its key.
 */
function signedPage(card: JsonObject, signed: JsonObject, keyName: string): Page {
  return { body: JSON.stringify(signed), etag: `W/${etagOf(`${keyName} ${JSON.stringify(card)}`)}` }
}

function unsignedPage(card: JsonObject): Page {
  const body = JSON.stringify(card)
  return { body, etag: etagOf(body) }
}
