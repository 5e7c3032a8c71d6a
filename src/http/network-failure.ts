/** Why a request got no answer. */
export type NetworkFailure =
  | 'connection-refused'
  | 'name-not-found'
  | 'host-unreachable'
  | 'certificate'
  | 'not-tls'
  | 'not-http'
  | 'bad-url'
  | 'redirect-loop'
  /** A guard did not let it out. */
  | 'guarded'
  | 'connection-lost'
  /** Not told: browsers, which keep it from scripts, also say nothing more of a request that CORS forbids. */
  | 'blocked'

/** What `fetch` threw, as far as its causes tell. Only the rims know `node:*`, but its codes are texts. */
export function networkFailureOf(error: unknown, depth = 0): NetworkFailure {
  if (!(error instanceof Error) || depth > 4) return 'blocked'
  const { code } = error as { readonly code?: unknown }
  const text = `${error.name} ${code} ${error.message}`
  const found = patterns.find(([pattern]) => pattern.test(text))
  if (found) return found[1]
  // Where several addresses were tried, each has its own cause.
  const cause = error instanceof AggregateError ? error.errors[0] : error.cause
  return networkFailureOf(cause, depth + 1)
}

/** Whether it is certain that nothing of the request reached anybody, so that sending it again repeats nothing. */
export function isBeforeSending(failure: NetworkFailure): boolean {
  switch (failure) {
    case 'connection-refused':
    case 'name-not-found':
    case 'host-unreachable':
    case 'certificate':
    case 'not-tls':
    case 'bad-url':
    case 'guarded':
      return true
    case 'not-http':
    case 'redirect-loop':
    case 'connection-lost':
    case 'blocked':
      return false
  }
}

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
