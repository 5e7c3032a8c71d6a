import { having } from '../base/options.ts'
import { isJson } from './json.ts'
import { type LargeResponse, Overloaded, retryAfterOverload } from './load.ts'

/** A client certificate. The TLS handshake has proven possession of its key. */
export interface PeerCertificate {
  /** Whether it is currently valid and issued by an authority that the server trusts. */
  readonly isTrusted: boolean
  /** The distinguished name, such as `CN=billing,O=Acme`. */
  readonly subject: string
  /** Subject alternative names by type: `DNS`, `URI`, `email`, `IP Address`. */
  readonly names: Readonly<Record<string, readonly string[]>>
  /** SHA-256 of the certificate in hexadecimal. */
  readonly fingerprint: string
  /** End of its validity in milliseconds since 1970. */
  readonly expires?: number
}

export interface Incoming {
  readonly method: string
  /** Percent-encoded, without the query and without `base`. */
  readonly path: string
  /** Without the question mark. */
  readonly query: string
  /** The path at which the handler is mounted: empty, or without a trailing slash. */
  readonly base: string
  /** Whether the connection itself is encrypted. */
  readonly secure: boolean
  /** By lower-case name; repeated headers are joined with a comma. Unlike the other methods, it needs no receiver. */
  header(name: string): string | undefined
  /** Reads the body; throws `BodyTooLarge` as soon as it is known to exceed `limit`. */
  bytes(limit: number): Promise<Uint8Array>
  /** Aborts when the caller disconnects. */
  readonly signal: AbortSignal
  /** The client certificate of the connection, where the platform exposes it. */
  certificate(): PeerCertificate | undefined
  /** The network address of the peer, where the platform exposes it. Behind a proxy, it is the proxy's. */
  address?(): string | undefined
  /**
   * Counts a large response in the load of the server, where the platform has one: until it is released, or the response
   * has ended. Undefined if the server has no room for it.
   */
  reserve?(response: LargeResponse, caller: string): (() => void) | undefined
}

export interface Outgoing {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /**
   * A list of texts is sent one after the other, so that a long text can be shared by several responses. A stream is
   * pulled only as fast as the caller reads. Only streams can have bytes, such as those of a compressed file.
   */
  readonly body?: string | readonly string[] | AsyncIterable<string | Uint8Array>
  /** Whether there is nothing at this path. An adapter may pass such a request on to the rest of an application. */
  readonly isUnrouted?: boolean
}

/**
 * One request and its response, in terms that a `fetch` Request and a `node:http` message have in common. The platform
 * adapters translate, so that the hot path builds neither a `Request` nor a `Response`.
 */
export type Exchange = (incoming: Incoming) => Promise<Outgoing>

/** The exchange of what a user passes to `caller` as a handler. Throws a `TypeError` if it is none. */
export function exchangeOf(handler: { readonly exchange: Exchange }, caller: string): Exchange {
  having('what createHandler(agent, options) returns', 'exchange')(handler, `${caller}(): handler`)
  return handler.exchange
}

/**
 * Runs an exchange and returns a response even if it throws. Such an error is a bug: `onError` receives it and the
 * caller gets a bare 500. Only a body that is too large, or too large for now, is reported to the caller.
 */
export async function runExchange(
  exchange: Exchange,
  incoming: Incoming,
  onError: (error: unknown) => void,
): Promise<Outgoing> {
  try {
    return await exchange(incoming)
  } catch (error) {
    if (error instanceof BodyTooLarge) return errorResponse(413, error.message)
    if (error instanceof Overloaded)
      return errorResponse(503, error.message, { 'retry-after': `${retryAfterOverload}` })
    // Errors after the caller has disconnected are expected.
    if (!incoming.signal.aborted) onError(error)
    return internalError
  }
}

/** Counts a large response in the load. Undefined if the server has no room for it. */
export function reserveResponse(
  incoming: Pick<Incoming, 'reserve'>,
  response: LargeResponse,
  caller: string,
): (() => void) | undefined {
  return incoming.reserve ? incoming.reserve(response, caller) : () => {}
}

/** The same request with a body that is already being read; `bytes` may be called repeatedly, with any limit. */
export function withBody(incoming: Incoming, body: Promise<Uint8Array>): Incoming {
  // `bytes` rejects with the same error; without a call it would be an unhandled rejection.
  body.catch(() => {})
  return withBytes(incoming, async (limit) => {
    const bytes = await body
    if (bytes.length > limit) throw new BodyTooLarge(limit)
    return bytes
  })
}

/** The same request with another way to read its body. */
export function withBytes(incoming: Incoming, bytes: Incoming['bytes']): Incoming {
  return {
    method: incoming.method,
    path: incoming.path,
    query: incoming.query,
    base: incoming.base,
    secure: incoming.secure,
    certificate: () => incoming.certificate(),
    address: () => incoming.address?.(),
    reserve: (response, caller) => reserveResponse(incoming, response, caller),
    header: incoming.header,
    bytes,
    get signal() {
      return incoming.signal
    },
  }
}

export type OutgoingBody = NonNullable<Outgoing['body']>

/** Whether the length of a body is known before it is sent. */
export function isComplete(body: OutgoingBody): body is string | readonly string[] {
  return typeof body === 'string' || Array.isArray(body)
}

/** Characters of one write of a long text. */
const sliceLength = 64 * 1024

/** Cuts long texts into slices, so that a platform encodes and buffers no more than one slice ahead of its reader. */
export function* slicesOf(body: string | readonly string[]): Generator<string> {
  for (const text of typeof body === 'string' ? [body] : body) {
    for (let at = 0; at < text.length; ) {
      let end = at + sliceLength
      // The two halves of a surrogate pair must be encoded together.
      if ((text.charCodeAt(end - 1) & 0xfc00) === 0xd800) end++
      yield text.slice(at, end)
      at = end
    }
  }
}

/** Whether a text is written at once. */
export function isShort(body: string | readonly string[]): body is string {
  return typeof body === 'string' && body.length <= sliceLength
}

export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge'
  readonly limit: number
  constructor(limit: number) {
    super(`the body is longer than ${limit} bytes`)
    this.limit = limit
  }
}

/** A framework, or a middleware, has read the body before the request came here, and kept nothing of it. */
export class BodyConsumed extends Error {
  override readonly name = 'BodyConsumed'
  constructor(options?: ErrorOptions) {
    super(
      'The body was read before the request reached the agent, and what was read is not there. Mount the agent before the ' +
        'middleware that reads bodies, or let that middleware keep what it read, as body parsers do in `request.body`.',
      options,
    )
  }
}

export const internalError = /* @__PURE__ */ errorResponse(500, 'internal error')

/**
 * Adds security headers for browsers. A POST of JSON cannot come from a link, form, frame or tag (Fetch §4.8), so its
 * response is only read by scripts and needs no more than `nosniff`.
 */
export function withSecurityHeaders(
  headers: Outgoing['headers'],
  method: string | undefined,
  contentType: string | undefined,
): Outgoing['headers'] {
  if (method === 'POST' && isJson(contentType)) return { ...headers, 'x-content-type-options': 'nosniff' }
  return { ...securityHeaders, ...headers }
}

/**
 * Defaults for every response that a browser can open: it is not a page, so it is not sniffed, loads and submits
 * nothing, cannot be framed, sends no referrer and cannot be embedded by other sites. Origins that `cors` allows can
 * still read it. `no-store` because caches know only `Authorization`, not the other headers by which callers
 * authenticate.
 */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const satisfies Record<string, string>

function errorResponse(status: number, error: string, headers: Outgoing['headers'] = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ error }) }
}
