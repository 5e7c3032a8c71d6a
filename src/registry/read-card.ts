import { createCardVerifier } from '../core/auth/card-signature/verify-card.ts'
import type { Clock } from '../core/base/clock.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { Client } from '../core/client/client.ts'
import { connect } from '../core/client/connect.ts'
import type { VerifyCard } from '../core/client/options.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { cardViolation, publicMessage } from './conformance.ts'
import type { A2AEntry, Observation } from './entry.ts'
import type { A2AOptions } from './options.ts'

const maxSkills = 500

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000]

export interface ReadCardOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  /** Defaults to trusting keys from the card's own origin. */
  readonly verifyCard?: VerifyCard
  readonly requireSignature: boolean
  readonly maxCardBytes: number
  readonly timeout: number
}

/** A card that could be read, with the results of checking it. */
export interface CheckedCard {
  readonly card: JsonObject
  /** Missing if the card was inline in a catalog. */
  readonly cardUrl?: string
  readonly etag?: string
  readonly headers: Headers
  /** Missing if the card was inline in a catalog: it says nothing about the agent. */
  readonly reachable?: Observation
  readonly conforms: Observation
  readonly signature?: Observation
  /** Missing if the card names no endpoint that this registry can call. */
  readonly client?: Client
}

/** Throws `A2AError` if there is no card, or if its signature is required and not valid. */
export async function readCard(
  target: string | JsonObject,
  options: ReadCardOptions,
  previous?: Pick<A2AEntry, 'card' | 'cardUrl' | 'etag'>,
): Promise<CheckedCard> {
  const { clock, timeout } = options
  const recorder = recordResponses(options)
  let verified: VerifiedCard | undefined
  const cardCache = {
    get: (url: string) =>
      url === previous?.cardUrl && previous.etag ? { etag: previous.etag, wire: previous.card } : undefined,
    set() {},
  }
  const verifyCard: VerifyCard = async (wire) => {
    requireSize(wire, options.maxCardBytes)
    verified = await verifySignature(wire, recorder.last()?.url, options)
    return verified.card
  }
  let client: Client | undefined
  let connectFailure: string | undefined
  try {
    client = await connect(target, { fetch: recorder.fetch, cardCache, verifyCard, timeout, retry: { tries: 1 } })
  } catch (error) {
    if (!verified || !isA2ACard(verified.card)) throw error
    connectFailure = publicMessage(error)
  }
  if (!verified) throw new A2AError('internal', 'readCard: the client connected without verifying the card.')
  const { card, signature } = verified
  const last = recorder.last()
  const at = clock.now()
  const problem = connectFailure ?? cardViolation(card)
  const etag = last?.headers.get('etag') ?? (last?.status === 304 ? previous?.etag : undefined)
  return defined({
    card,
    cardUrl: last?.url,
    etag: etag || undefined,
    headers: last?.headers ?? new Headers(),
    reachable: last && { ok: true, at, latency: last.latency },
    conforms: defined({ ok: problem === undefined, at, problem }),
    signature,
    client,
  })
}

/** Bounds for the freshness lifetime of cards and catalogs, in milliseconds. */
export interface LifetimeBounds {
  readonly min: number
  readonly max: number
  /** For responses without caching headers. */
  readonly fallback: number
}

export function lifetimeBounds(options: Pick<A2AOptions, 'minAge' | 'maxAge' | 'usualAge'> = {}): LifetimeBounds {
  const { minAge = minute, maxAge = day, usualAge = hour } = options
  return { min: minAge, max: maxAge, fallback: usualAge }
}

/** How long a response with these headers is fresh (RFC 9111 §4.2), in milliseconds and within the bounds. */
export function freshnessLifetime(headers: Headers, now: number, { min, max, fallback }: LifetimeBounds): number {
  return Math.min(max, Math.max(min, explicitLifetime(headers, now) ?? fallback))
}

/** Delay before the next attempt to read a card or catalog, in milliseconds: from a minute, doubling, to an hour. */
export function retryDelay(previousFailures: number): number {
  return Math.min(hour, minute * 2 ** Math.min(previousFailures, 10))
}

interface VerifiedCard {
  readonly card: JsonObject
  readonly signature?: Observation
}

interface RecordedResponse {
  /** The requested URL, before redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly latency: number
}

/** Wraps `fetch` and keeps the head of the last response. */
function recordResponses({ fetch }: ReadCardOptions): {
  readonly fetch: Fetch
  readonly last: () => RecordedResponse | undefined
} {
  let last: RecordedResponse | undefined
  return {
    last: () => last,
    async fetch(url, init) {
      const start = performance.now()
      const response = await fetch(url, init)
      const { status, headers } = response
      last = { url, status, headers, latency: Math.round((performance.now() - start) * 10) / 10 }
      return response
    },
  }
}

function requireSize(card: JsonObject, maxBytes: number): void {
  const { skills } = card
  if (Array.isArray(skills) && skills.length > maxSkills) {
    throw new Error(`it names ${skills.length} skills, and at most ${maxSkills} are allowed`)
  }
  if (JSON.stringify(card).length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
}

/** Returns the signed part of a card whose signature is trusted, and otherwise the whole card. */
async function verifySignature(
  wire: JsonObject,
  url: string | undefined,
  { verifyCard, requireSignature, fetch, clock }: ReadCardOptions,
): Promise<VerifiedCard> {
  const isSigned = Array.isArray(wire.signatures) && wire.signatures.length > 0
  if (!isSigned && requireSignature) throw new Error('it is not signed, and this registry requires a signature')
  if (!isSigned) return { card: wire }
  const at = clock.now()
  if (verifyCard) return { card: (await verifyCard(wire)) ?? wire, signature: { ok: true, at } }
  try {
    if (url === undefined) throw new Error('it was not fetched from a URL, and no key is trusted')
    const verify = createCardVerifier({ trustedOrigins: [new URL(url).origin], fetch })
    return { card: await verify(wire), signature: { ok: true, at } }
  } catch (error) {
    if (requireSignature) throw error
    return { card: wire, signature: { ok: false, at, problem: publicMessage(error) } }
  }
}

/** Other protocols publish cards at similar paths. */
function isA2ACard({ name, url, supportedInterfaces }: JsonObject): boolean {
  return typeof name === 'string' && (typeof url === 'string' || Array.isArray(supportedInterfaces))
}

function explicitLifetime(headers: Headers, now: number): number | undefined {
  const control = headers.get('cache-control')?.toLowerCase() ?? ''
  if (/(?:^|[,\s])no-(?:store|cache)(?:$|[,\s=])/.test(control)) return 0
  const seconds = control.match(/(?:^|[,\s])max-age\s*=\s*"?(\d{1,10})/)?.[1]
  if (seconds !== undefined) {
    const age = Number(headers.get('age') ?? 0)
    return (Number(seconds) - (Number.isFinite(age) && age > 0 ? age : 0)) * 1000
  }
  const expires = headers.get('expires')
  if (expires === null) return undefined
  const [expiry, date] = [Date.parse(expires), Date.parse(headers.get('date') ?? '')]
  // An invalid date, such as the common "0", means already expired (RFC 9111 §5.3).
  return Number.isNaN(expiry) ? 0 : expiry - (Number.isNaN(date) ? now : date)
}
