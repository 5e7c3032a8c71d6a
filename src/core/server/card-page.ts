import type { CardKey, DetachedSignature } from '../auth/card-signature/sign-card.ts'
import type { KeyRing } from '../auth/key-ring.ts'
import { BoundedMap } from '../base/bounded-map.ts'
import { type Clock, systemClock } from '../base/clock.ts'
import { defined, type JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import type { ServerDialect } from '../dialects/dialect.ts'
import { type CardFormat, canBeSigned, encodeCardAs, extendedCardEncodings } from '../dialects/served-card.ts'
import type { ProtocolVersion } from '../dialects/versions.ts'
import type { Incoming, Outgoing } from '../http/exchange.ts'
import { isLoopback, type OriginOptions, originOf } from '../http/origin.ts'
import { etagOf, isUnmodified, matchesEtag, type PageVersion } from '../http/response-headers.ts'
import type { AgentCard } from '../protocol/card.ts'
import { readVersion } from '../transports/server/call.ts'
import type { InterfaceOptions } from './card.ts'

/** The card without gRPC, for readers that accept only URLs as addresses, such as Google ADK. */
const httpCardPath = '/.well-known/agent-card-http.json'

/** Paths of the card: since 0.3, before, and without gRPC. */
export const cardPaths: readonly string[] = ['/.well-known/agent-card.json', '/.well-known/agent.json', httpCardPath]

/** Path of the public keys that verify the signatures of an agent: of its card, and of the events that it pushes. */
export const jwksPath = '/.well-known/jwks.json'

/** Callers choose the origin of a card, so the number of cached pages and signatures must be bounded. */
const maxCached = 64

/** Chooses the format of a card by the path and the version that a caller names, if any. */
export type FormatChoice = (path: string, version: string | undefined) => CardFormat

export function createFormatChoice(
  { cards = 'hybrid' }: { readonly cards?: CardFormat },
  dialects: readonly ServerDialect[],
): FormatChoice {
  const versions: readonly string[] = [...new Set(dialects.map(({ version }) => version))]
  if (cards !== 'hybrid') {
    if (cards !== 'legacy' && !versions.includes(cards)) {
      throw new TypeError(
        `dialects.cards: expected a version that is served (${versions.join(', ')}), got ${JSON.stringify(cards)}.`,
      )
    }
    return () => cards
  }
  return (path, version) => {
    if (version !== undefined && versions.includes(version)) return version as ProtocolVersion
    return path === cardPaths[1] ? 'legacy' : 'hybrid'
  }
}

export interface CardPageOptions {
  /** The card with the address that the caller used. */
  readonly cardFor: (origin: string, options: Pick<InterfaceOptions, 'grpcOnCard'>) => AgentCard
  readonly chooseFormat: FormatChoice
  /** Without a signer, cards are not signed. */
  readonly signer?: CardSigner | undefined
  /** Identifies callers, if the card is not for everyone. */
  readonly authenticate?: EndpointAuthentication | undefined
  readonly options: OriginOptions & InterfaceOptions & { readonly cards?: CardFormat; readonly clock?: Clock }
}

/** Serves the card, with the address that the caller used, and cacheable. */
export function createCardPage(pageOptions: CardPageOptions): (incoming: Incoming) => Promise<Outgoing> {
  const { cardFor, chooseFormat, signer, authenticate, options } = pageOptions
  const pages = new BoundedMap<string, Page>(maxCached)
  const { now } = options.clock ?? systemClock
  const vary = varyOf(options, authenticate !== undefined)
  const shared = defined({
    'cache-control': `${authenticate ? 'private' : 'public'}, max-age=300`,
    vary: vary === '' ? undefined : vary,
  })

  async function createPage(card: AgentCard, origin: string, format: CardFormat): Promise<Page> {
    const wire = encodeCardAs(format, card)
    const lastModified = new Date(now()).toUTCString()
    if (!signer || !canBeSigned(format)) return { ...unsignedPage(wire), lastModified }
    return { ...signedPage(wire, await signer.signWire(wire, origin), signer.keyName()), lastModified }
  }

  return async (incoming) => {
    if (authenticate) await authenticate(incoming)
    const origin = originOf(incoming, options)
    const version = readVersion(incoming)
    const format = chooseFormat(incoming.path, version)
    const grpcOnCard = options.grpcOnCard !== false && incoming.path !== httpCardPath
    const key = [format, origin, grpcOnCard, signer?.keyName()].join(' ')
    const page = pages.get(key) ?? (await createPage(cardFor(origin, { grpcOnCard }), origin, format))
    pages.set(key, page)
    const headers = { ...shared, etag: page.etag, 'last-modified': page.lastModified }
    if (isUnmodified(incoming, page)) return { status: 304, headers }
    return { status: 200, headers: { ...headers, 'content-type': 'application/json' }, body: page.body }
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

type EndpointAuthentication = (incoming: Incoming) => unknown

/** The headers of a request that the card depends on (RFC 9110 §12.5.5). */
function varyOf(options: CardPageOptions['options'], isProtected: boolean): string {
  const { cards = 'hybrid', publicUrl, trustProxy } = options
  const names: string[] = []
  if (cards === 'hybrid') names.push('A2A-Version')
  if (isProtected) names.push('Authorization')
  if (trustProxy && publicUrl === undefined) {
    names.push('Forwarded', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Forwarded-Prefix')
  }
  return names.join(', ')
}

interface Page extends PageVersion {
  readonly body: string
}

/**
 * Two signatures of the same card differ, also between replicas. The ETag is therefore weak, and made of the card and
 * the name of its key.
 */
function signedPage(card: JsonObject, signed: JsonObject, keyName: string): Omit<Page, 'lastModified'> {
  return { body: JSON.stringify(signed), etag: `W/${etagOf(`${keyName} ${JSON.stringify(card)}`)}` }
}

function unsignedPage(card: JsonObject): Omit<Page, 'lastModified'> {
  const body = JSON.stringify(card)
  return { body, etag: etagOf(body) }
}
