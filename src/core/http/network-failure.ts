/** Why a request got no response. */
export type NetworkFailure =
  | 'connection-refused'
  | 'name-not-found'
  | 'host-unreachable'
  | 'certificate'
  | 'not-tls'
  | 'not-http'
  | 'bad-url'
  | 'redirect-loop'
  /** The address guard refused it. */
  | 'guarded'
  | 'connection-lost'
  /** Unknown: browsers hide the cause from scripts, even when CORS forbids a request. */
  | 'blocked'

/** The failures as ends of a sentence: the address cannot be reached, because … */
export const networkFailureTexts: Readonly<Record<NetworkFailure, string>> = {
  'connection-refused': 'nothing listens there',
  'name-not-found': 'there is no host of that name',
  'host-unreachable': 'there is no route to that host',
  certificate: 'its certificate is not trusted',
  'not-tls': 'it does not speak TLS',
  'not-http': 'it does not speak HTTP',
  'bad-url': 'it is not a valid address',
  'redirect-loop': 'it redirects in a circle',
  guarded: 'the guarded fetch refuses it',
  'connection-lost': 'the connection broke off',
  blocked: 'the request failed, and the platform does not say why',
}

/** Classifies an error that `fetch` threw by its codes and messages, because this code may not import `node:*`. */
export function networkFailureOf(error: unknown, depth = 0): NetworkFailure {
  if (!(error instanceof Error) || depth > 4) return 'blocked'
  const { code } = error as { readonly code?: unknown }
  const text = `${error.name} ${code} ${error.message}`
  const match = patterns.find(([pattern]) => pattern.test(text))
  if (match) return match[1]
  // If several addresses were tried, each has its own cause.
  const cause = error instanceof AggregateError ? error.errors[0] : error.cause
  return networkFailureOf(cause, depth + 1)
}

/** The failures of a request for which there was no connection, so that sending it again repeats nothing. */
export const neverConnected: ReadonlySet<string> = new Set<NetworkFailure>([
  'connection-refused',
  'name-not-found',
  'host-unreachable',
])

/** The failures that sending the request again does not change. */
export const permanentFailures: ReadonlySet<string> = new Set<NetworkFailure>([
  'certificate',
  'not-tls',
  'bad-url',
  'redirect-loop',
  'guarded',
])

const patterns: readonly (readonly [RegExp, NetworkFailure])[] = [
  [/ERR_REQUEST_REFUSED/, 'guarded'],
  [/ECONNREFUSED|ConnectionRefused/, 'connection-refused'],
  [/ENOTFOUND|EAI_AGAIN/, 'name-not-found'],
  [/EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL|ETIMEDOUT|ERR_CONNECT_TIMEOUT/, 'host-unreachable'],
  [/CERT|certificate|UNABLE_TO_VERIFY_LEAF_SIGNATURE/, 'certificate'],
  [/ERR_SSL|EPROTO/, 'not-tls'],
  [/HTTPParserError|HPE_|ERR_HTTP2_ERROR Protocol error/, 'not-http'],
  [/ERR_INVALID_URL|unknown scheme|bad port/, 'bad-url'],
  [/redirect count exceeded|too many redirects/i, 'redirect-loop'],
  [/ECONNRESET|EPIPE|ERR_HTTP2_|UND_ERR_SOCKET|ERR_(BODY|HEADERS|TOTAL)_TIMEOUT/, 'connection-lost'],
]
