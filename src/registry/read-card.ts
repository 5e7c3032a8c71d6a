import { cardVerifier } from '../auth/card-signature/verify-card.ts'
import type { Clock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Client } from '../client/client.ts'
import { connect } from '../client/connect.ts'
import type { VerifyCard } from '../client/verify-card.ts'
import type { Fetch } from '../http/fetch.ts'
import { A2AError } from '../protocol/errors.ts'
import { faultOf, sayProblem } from './conformance.ts'
import type { A2AEntry, Sighting } from './entry.ts'

const maxSkills = 500

export interface ReadCardOptions {
  readonly fetch: Fetch
  readonly clock: Clock
  /** Says whose signatures are trusted. Without it, those by keys of the card's own origin. */
  readonly verifyCard?: VerifyCard
  readonly requireSignature: boolean
  readonly maxCardBytes: number
  readonly timeout: number
}

/** A card that could be read, whatever can be said against it. */
export interface CardReading {
  readonly card: JsonObject
  /** There is none for a card that came in a catalog. */
  readonly cardUrl?: string
  readonly etag?: string
  readonly headers: Headers
  /** Nothing of an agent was seen if its card came in a catalog. */
  readonly reachable?: Sighting
  readonly conforms: Sighting
  readonly signature?: Sighting
  /** There is none if the card names no way that we can go. */
  readonly client?: Client
}

/** Throws `A2AError` if there is no card, or none that is to be believed. */
export async function readCard(
  target: string | JsonObject,
  options: ReadCardOptions,
  known?: Pick<A2AEntry, 'card' | 'cardUrl' | 'etag'>,
): Promise<CardReading> {
  const { clock, timeout } = options
  const watched = watch(options)
  let seen: { readonly card: JsonObject; readonly signature?: Sighting } | undefined
  const cardCache = {
    get: (url: string) => (url === known?.cardUrl && known.etag ? { etag: known.etag, wire: known.card } : undefined),
    set() {},
  }
  const verifyCard: VerifyCard = async (wire) => {
    checkSize(wire, options.maxCardBytes)
    seen = await believe(wire, watched.last()?.url, options)
    return seen.card
  }
  const asking = { fetch: watched.fetch, cardCache, verifyCard, timeout, retry: { tries: 1 } }
  let client: Client | undefined
  let problem: string | undefined
  try {
    client = await connect(target, asking)
  } catch (error) {
    if (!seen || !isOfA2A(seen.card)) throw error
    problem = sayProblem(error)
  }
  if (!seen) throw new A2AError('internal', 'The card was not seen.')
  const { card, signature } = seen
  const last = watched.last()
  const at = clock.now()
  const fault = problem ?? faultOf(card)
  const etag = last?.headers.get('etag') ?? (last?.status === 304 ? known?.etag : undefined)
  return {
    card,
    ...(last && { cardUrl: last.url }),
    ...(etag && { etag }),
    headers: last?.headers ?? new Headers(),
    ...(last && { reachable: { ok: true, at, latency: last.latency } }),
    conforms: { ok: fault === undefined, at, ...(fault !== undefined && { problem: fault }) },
    ...(signature && { signature }),
    ...(client && { client }),
  }
}

/** The same, but remembers the last answer. */
function watch({ fetch }: ReadCardOptions): { readonly fetch: Fetch; readonly last: () => Watched | undefined } {
  let last: Watched | undefined
  return {
    last: () => last,
    async fetch(url, init) {
      const begun = performance.now()
      const response = await fetch(url, init)
      const { status, headers } = response
      last = { url, status, headers, latency: Math.round((performance.now() - begun) * 10) / 10 }
      return response
    },
  }
}

interface Watched {
  /** As it was asked for, before redirects. */
  readonly url: string
  readonly status: number
  readonly headers: Headers
  readonly latency: number
}

function checkSize(card: JsonObject, maxBytes: number): void {
  const { skills } = card
  if (Array.isArray(skills) && skills.length > maxSkills) {
    throw new Error(`it names ${skills.length} skills, and at most ${maxSkills} are taken`)
  }
  if (JSON.stringify(card).length > maxBytes) throw new Error(`it has more than ${maxBytes} bytes`)
}

/** So much of the card as its signatures cover, if it is signed by somebody whom we know. */
async function believe(
  wire: JsonObject,
  url: string | undefined,
  { verifyCard, requireSignature, fetch, clock }: ReadCardOptions,
): Promise<{ readonly card: JsonObject; readonly signature?: Sighting }> {
  const isSigned = Array.isArray(wire.signatures) && wire.signatures.length > 0
  if (!isSigned && requireSignature) throw new Error('it is not signed, and this registry asks for it')
  if (!isSigned) return { card: wire }
  const at = clock.now()
  if (verifyCard) return { card: (await verifyCard(wire)) ?? wire, signature: { ok: true, at } }
  try {
    if (url === undefined) throw new Error('it came without an address, and no key is trusted')
    const verify = cardVerifier({ trustedOrigins: [new URL(url).origin], fetch })
    return { card: await verify(wire), signature: { ok: true, at } }
  } catch (error) {
    if (requireSignature) throw error
    return { card: wire, signature: { ok: false, at, problem: sayProblem(error) } }
  }
}

/** Others publish cards, too. */
function isOfA2A({ name, url, supportedInterfaces }: JsonObject): boolean {
  return typeof name === 'string' && (typeof url === 'string' || Array.isArray(supportedInterfaces))
}
