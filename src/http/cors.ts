import { isList } from '../base/json.ts'
import { answer, type Exchange, type Incoming, type Outgoing } from './exchange.ts'

const methods = 'GET, HEAD, POST, DELETE'

export interface CorsOptions {
  /** Such as `https://app.example.com`; `*` are all. */
  readonly origins: string | readonly string[]
  /** Whether browsers send cookies and client certificates along. Only to origins that are named. */
  readonly credentials?: boolean
  /** Seconds for which a browser may remember that it was allowed. Ten minutes by default. */
  readonly maxAge?: number
}

/** Whose pages may call: everybody's (`true`), those of these origins, or with more said of it. */
export type Cors = boolean | string | readonly string[] | CorsOptions

/**
 * The same exchange for pages of other origins (Fetch §3.3): it answers their preflights, and lets them read answers,
 * also those of failures. Nothing is refused for its origin that is no preflight: other callers send one, too.
 */
export function withCors(exchange: Exchange, cors: Cors, onError: (error: unknown) => void): Exchange {
  const { credentials = false, maxAge = 600, ...options } = optionsOf(cors)
  const listed = [options.origins].flat()
  if (listed.length === 0) return exchange
  const isForAll = listed.includes('*')
  if (isForAll && credentials) throw new TypeError('cors: credentials are only for origins that are named, not for *.')
  const origins: ReadonlySet<string> = new Set(isForAll ? [] : listed.map(requireOrigin))

  function headersFor(incoming: Incoming): Headers | undefined {
    const origin = incoming.header('origin')
    if (origin === undefined || !(isForAll || origins.has(origin))) return undefined
    return {
      'access-control-allow-origin': isForAll ? '*' : origin,
      ...(credentials && { 'access-control-allow-credentials': 'true' }),
    }
  }

  function answerPreflight(incoming: Incoming): Outgoing {
    const vary = 'Origin, Access-Control-Request-Method, Access-Control-Request-Headers'
    const allowed = headersFor(incoming)
    if (!allowed) {
      const error = { code: 403, status: 'PERMISSION_DENIED', message: 'Pages of this origin may not call this agent.' }
      return {
        status: 403,
        headers: { 'content-type': 'application/json', vary },
        body: JSON.stringify({ error }),
      }
    }
    const asked = namesIn(incoming.header('access-control-request-headers'))
    return {
      status: 204,
      headers: {
        ...allowed,
        'access-control-allow-methods': methods,
        ...(asked !== '' && { 'access-control-allow-headers': asked }),
        'access-control-max-age': `${maxAge}`,
        vary,
      },
    }
  }

  return async (incoming) => {
    if (isPreflight(incoming)) return answerPreflight(incoming)
    const outgoing = await answer(exchange, incoming, onError)
    const allowed = headersFor(incoming)
    const headers = isForAll ? outgoing.headers : { ...outgoing.headers, vary: varying(outgoing.headers.vary) }
    if (!allowed) return { ...outgoing, headers }
    return { ...outgoing, headers: { ...headers, ...allowed, 'access-control-expose-headers': exposed } }
  }
}

function optionsOf(cors: Cors): CorsOptions {
  if (typeof cors === 'boolean') return { origins: cors ? '*' : [] }
  return typeof cors === 'string' || isList(cors) ? { origins: cors } : cors
}

/** As browsers write it; `null` is what they say of pages without one. */
function requireOrigin(text: string): string {
  if (text === 'null') return text
  const url = URL.canParse(text) ? new URL(text) : undefined
  // Browser extensions have schemes of their own, of which a URL knows no origin.
  const origin = url && `${url.protocol}//${url.host}`
  if (origin !== undefined && url?.host && !origin.includes('*') && text.replace(/\/$/, '').toLowerCase() === origin) {
    return origin
  }
  throw new TypeError(`cors: expected an origin such as https://app.example.com, got ${JSON.stringify(text)}.`)
}

type Headers = Outgoing['headers']

/** Whoever may call may say what it wants; which headers mean something depends on the schemes of the agent. */
function namesIn(asked = ''): string {
  return /^[\w!#$%&'*+.^`|~, -]{0,2000}$/.test(asked) ? asked : ''
}

function isPreflight({ method, header }: Incoming): boolean {
  return method === 'OPTIONS' && header('origin') !== undefined && header('access-control-request-method') !== undefined
}

function varying(vary: string | undefined): string {
  return vary === undefined ? 'Origin' : `${vary}, Origin`
}

/** What a page may read of an answer beyond what every page may (Fetch §3.3.2). */
const exposed =
  'A2A-Version, A2A-Extensions, ETag, Retry-After, WWW-Authenticate, ' +
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy'
