import { Overloaded, retryAfterOverload } from './load.ts'

/** A certificate of a caller. Its key was proven on the connection. */
export interface PeerCertificate {
  /** Whether an authority that the server trusts has issued it, and it is of today. */
  readonly isTrusted: boolean
  /** The distinguished name, as `CN=billing,O=Acme`. */
  readonly subject: string
  /** The subject alternative names, by their kind: `DNS`, `URI`, `email`, `IP Address`. */
  readonly names: Readonly<Record<string, readonly string[]>>
  /** SHA-256 of the whole, in hexadecimal digits. */
  readonly fingerprint: string
  /** Until when it is good, in milliseconds since 1970. */
  readonly expires?: number
}

export interface Incoming {
  readonly method: string
  /** Percent-encoded, without the query, and without the `base` the handler is mounted at. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /** Where the handler is mounted: empty, or a path without a slash at its end. */
  readonly base: string
  /** Whether the connection itself is encrypted. */
  readonly secure: boolean
  /** By lower-case name; repeated headers are joined with a comma. */
  header(name: string): string | undefined
  /** The whole body; throws `BodyTooLarge` as soon as it is known to be longer than `limit`. */
  bytes(limit: number): Promise<Uint8Array>
  /** Aborts when the caller has gone. */
  readonly signal: AbortSignal
  /** The certificate that the caller showed on the connection, where the rim can know it. */
  certificate(): PeerCertificate | undefined
}

export interface Outgoing {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** A stream is pulled: nothing is read from it while the caller does not read. */
  readonly body?: string | AsyncIterable<string>
}

/**
 * One request and its answer, as the core sees them: what a `fetch` Request and a `node:http` message have in common.
 * Rims translate at the edge, so that the hot path builds neither a `Request` nor a `Response`.
 */
export type Exchange = (incoming: Incoming) => Promise<Outgoing>

/**
 * Runs an exchange and answers also when it throws. That is a bug, so `onError` learns of it and the caller sees
 * nothing of it; only a body for which there is no room is named.
 */
export async function answer(
  exchange: Exchange,
  incoming: Incoming,
  onError: (error: unknown) => void,
): Promise<Outgoing> {
  try {
    return await exchange(incoming)
  } catch (error) {
    if (error instanceof BodyTooLarge) return plain(413, error.message)
    if (error instanceof Overloaded) return plain(503, error.message, { 'retry-after': `${retryAfterOverload}` })
    // Who aborts because the caller has gone does as told.
    if (!incoming.signal.aborted) onError(error)
    return internalError
  }
}

/** The same request, whose body is being read already: it may be asked for again, within any limit. */
export function withBody(incoming: Incoming, body: Promise<Uint8Array>): Incoming {
  // Who asks hears of a failure; it is no one's fault if nobody does.
  body.catch(() => {})
  return {
    method: incoming.method,
    path: incoming.path,
    query: incoming.query,
    base: incoming.base,
    secure: incoming.secure,
    certificate: () => incoming.certificate(),
    header: incoming.header,
    async bytes(limit) {
      const bytes = await body
      if (bytes.length > limit) throw new BodyTooLarge(limit)
      return bytes
    },
    get signal() {
      return incoming.signal
    },
  }
}

export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
  readonly limit: number
  constructor(limit: number) {
    super(`the body is longer than ${limit} bytes`)
    this.limit = limit
  }
}

export const internalError = plain(500, 'internal error')

function plain(status: number, error: string, headers: Outgoing['headers'] = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ error }) }
}
