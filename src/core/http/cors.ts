import { defined, isList } from '../base/json.ts'
import { anyOf, flag, integer, listOf, type OptionChecks, text } from '../base/options.ts'
import { type Exchange, type Incoming, type Outgoing, runExchange } from './exchange.ts'

const methods = 'GET, HEAD, POST, DELETE'

export interface CorsOptions {
  /** Such as `https://app.example.com`; `*` means all. */
  readonly origins: string | readonly string[]
  /** Whether browsers send cookies and client certificates. Requires named origins. */
  readonly credentials?: boolean
  /** Seconds for which a browser may cache a preflight response. Defaults to 600. */
  readonly maxAge?: number
}

export const corsChecks: OptionChecks<CorsOptions> = {
  origins: anyOf('an origin or a list of origins', text, listOf(text)),
  credentials: flag,
  maxAge: integer(),
}

/** Which origins may call: all (`true`), the listed ones, or as the options say. */
export type Cors = boolean | string | readonly string[] | CorsOptions

/**
 * Makes an exchange usable from pages of other origins (Fetch §3.3): answers their preflights and lets them read
 * responses, including errors. Only preflights are rejected for their origin, because other clients send `Origin` too.
 */
export function withCors(exchange: Exchange, cors: Cors, onError: (error: unknown) => void): Exchange {
  const { credentials = false, maxAge = 600, ...options } = optionsOf(cors)
  const listedOrigins = [options.origins].flat()
  if (listedOrigins.length === 0) return exchange
  const isForAll = listedOrigins.includes('*')
  if (isForAll && credentials) throw new TypeError('cors: credentials are only for origins that are named, not for *.')
  const allowsOrigin = createOriginCheck(cors)

  function headersFor(incoming: Incoming): Headers | undefined {
    const origin = incoming.header('origin')
    if (origin === undefined || !allowsOrigin(origin)) return undefined
    return defined({
      'access-control-allow-origin': isForAll ? '*' : origin,
      'access-control-allow-credentials': credentials ? 'true' : undefined,
    })
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
    const requested = readHeaderNames(incoming.header('access-control-request-headers'))
    return {
      status: 204,
      headers: {
        ...allowed,
        'access-control-allow-methods': methods,
        ...defined({ 'access-control-allow-headers': requested === '' ? undefined : requested }),
        'access-control-max-age': `${maxAge}`,
        vary,
      },
    }
  }

  return async (incoming) => {
    if (isPreflight(incoming)) return answerPreflight(incoming)
    const outgoing = await runExchange(exchange, incoming, onError)
    const allowed = headersFor(incoming)
    const headers = isForAll ? outgoing.headers : { ...outgoing.headers, vary: varyByOrigin(outgoing.headers.vary) }
    if (!allowed) return { ...outgoing, headers }
    return { ...outgoing, headers: { ...headers, ...allowed, 'access-control-expose-headers': exposedHeaders } }
  }
}

/** Returns whether pages of an origin may call. */
export function createOriginCheck(cors: Cors = false): (origin: string) => boolean {
  const listedOrigins = [optionsOf(cors).origins].flat()
  if (listedOrigins.includes('*')) return () => true
  const origins: ReadonlySet<string> = new Set(listedOrigins.map(requireOrigin))
  return (origin) => origins.has(origin)
}

function optionsOf(cors: Cors): CorsOptions {
  if (typeof cors === 'boolean') return { origins: cors ? '*' : [] }
  return typeof cors === 'string' || isList(cors) ? { origins: cors } : cors
}

/** Requires the spelling that browsers use; they send `null` for pages without an origin. */
function requireOrigin(text: string): string {
  if (text === 'null') return text
  const url = URL.canParse(text) ? new URL(text) : undefined
  // `URL.origin` is "null" for the schemes of browser extensions.
  const origin = url && `${url.protocol}//${url.host}`
  if (origin !== undefined && url?.host && !origin.includes('*') && text.replace(/\/$/, '').toLowerCase() === origin) {
    return origin
  }
  throw new TypeError(`cors: expected an origin such as https://app.example.com, got ${JSON.stringify(text)}.`)
}

type Headers = Outgoing['headers']

/** An allowed origin may send any header: which ones have a meaning depends on the agent's security schemes. */
function readHeaderNames(header = ''): string {
  return /^[\w!#$%&'*+.^`|~, -]{0,2000}$/.test(header) ? header : ''
}

function isPreflight({ method, header }: Incoming): boolean {
  return method === 'OPTIONS' && header('origin') !== undefined && header('access-control-request-method') !== undefined
}

function varyByOrigin(vary: string | undefined): string {
  return vary === undefined ? 'Origin' : `${vary}, Origin`
}

/** Response headers that a page may read besides the safelisted ones (Fetch §3.3.2). */
const exposedHeaders =
  'A2A-Version, A2A-Extensions, X-A2A-File-Bytes, ETag, Retry-After, WWW-Authenticate, ' +
  'X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, RateLimit, RateLimit-Policy'
