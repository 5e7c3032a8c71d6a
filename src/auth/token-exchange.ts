import { BoundedMap } from '../base/bounded-map.ts'
import { sha256 } from '../base/hash.ts'
import { isObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import { readLimited } from '../http/read-limited.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ExchangeRequest, TokenExchange } from '../protocol/principal.ts'
import { requireSecureUrl } from './fetch-json.ts'

const accessToken = 'urn:ietf:params:oauth:token-type:access_token'

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** So long before its end a token is not given out any more, in milliseconds; of short ones, a fifth of their life. */
const margin = 30_000

/** So many tokens are held, and an endpoint may take so long and say so much. */
const limit = 1_000

const timeout = 10_000

const maxBytes = 64 * 1024

/** Of a token that does not say how long it lives, in seconds. */
const aMinute = 60

const known =
  /^(invalid_(request|client|grant|scope|target|token)|un(authorized_client|supported_grant_type)|access_denied|server_error|temporarily_unavailable)$/

export interface TokenExchangeOptions {
  /** Where tokens are exchanged (RFC 8693 §2). */
  readonly tokenUrl: string | URL
  /** By which this agent proves there who it is. */
  readonly clientId: string
  readonly clientSecret: string
  /** How the secret is shown: in the header by default (`basic`), or in the form (`post`). */
  readonly clientAuthentication?: 'basic' | 'post'
  /** Whether a token is asked for by the name of its `audience` (default) or by the address of a `resource`. */
  readonly target?: 'audience' | 'resource'
  /** More that is said, such as `actor_token`. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly fetch?: Fetch
}

/**
 * Tokens in the name of callers, from a token endpoint that knows them. Each is held in memory for as long as it is good,
 * under a digest of what it was exchanged for.
 */
export function tokenExchange(options: TokenExchangeOptions): TokenExchange {
  const url = requireSecureUrl('tokenExchange.tokenUrl', options.tokenUrl)
  const { clientId, clientSecret } = options
  for (const [name, value] of Object.entries({ clientId, clientSecret })) {
    if (typeof value !== 'string' || value === '') throw new TypeError(`tokenExchange.${name}: expected a text`)
  }
  const held = new BoundedMap<string, string>(limit)
  const flights = new Map<string, Promise<string>>()

  async function obtain(key: string, asked: ExchangeRequest): Promise<string> {
    try {
      const { token, life } = await ask(url, options, asked)
      held.set(key, token, Date.now() + life - Math.min(margin, life / 5))
      return token
    } finally {
      flights.delete(key)
    }
  }

  return async (asked) => {
    const { subjectToken, audience, scopes } = asked
    const key = String.fromCharCode(...sha256(JSON.stringify([subjectToken, audience, [...scopes].sort()])))
    const known = held.get(key)
    if (known !== undefined) return known
    const flight = flights.get(key) ?? obtain(key, asked)
    flights.set(key, flight)
    return await flight
  }
}

async function ask(url: string, options: TokenExchangeOptions, { subjectToken, audience, scopes }: ExchangeRequest) {
  const { clientId, clientSecret, clientAuthentication = 'basic', target = 'audience', parameters } = options
  const { fetch = globalThis.fetch } = options
  const form = new URLSearchParams({
    ...parameters,
    grant_type: grantType,
    subject_token: subjectToken,
    subject_token_type: accessToken,
    requested_token_type: accessToken,
    [target]: audience,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  })
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  if (clientAuthentication === 'basic') {
    headers.authorization = `Basic ${btoa(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`)}`
  } else {
    form.set('client_id', clientId)
    form.set('client_secret', clientSecret)
  }
  const { isOk, body } = await post(fetch, url, headers, `${form}`)
  const { access_token, token_type, issued_token_type, expires_in, error } = body
  if (!isOk || typeof access_token !== 'string' || access_token === '') throw refused(error)
  // RFC 8693 §2.2.1: both are required, and say what the token can be used for.
  if (typeof token_type !== 'string' || token_type.toLowerCase() !== 'bearer') throw unfit('no bearer token')
  if (typeof issued_token_type === 'string' && !usable.includes(issued_token_type)) throw unfit('no access token')
  const seconds = Number(expires_in)
  return { token: access_token, life: (seconds > 0 ? seconds : aMinute) * 1000 }
}

/** What goes wrong may have a secret in it: it is not told, and not kept as a cause. */
async function post(fetch: Fetch, url: string, headers: Record<string, string>, body: string) {
  try {
    const init: RequestInit = { method: 'POST', headers, body, redirect: 'error', signal: AbortSignal.timeout(timeout) }
    const response = await fetch(url, init)
    const text = new TextDecoder().decode(await readLimited(response.body, maxBytes))
    const value: unknown = JSON.parse(text)
    return { isOk: response.ok, body: isObject(value) ? value : {} }
  } catch {
    const text = 'The token endpoint gave no answer that can be read.'
    throw new A2AError('unavailable', text, { reason: 'exchange-unreachable' })
  }
}

/** Only the words of the standards are shown: anything else may be the token again. */
function refused(error: unknown): A2AError {
  const word = typeof error === 'string' && known.test(error) ? error : 'a word of its own'
  const text = `The token endpoint gives no token for this: ${word}.`
  return new A2AError('forbidden', text, { reason: 'exchange-refused', metadata: { error: word } })
}

function unfit(came: string): A2AError {
  return new A2AError('forbidden', `The token endpoint gave ${came}.`, { reason: 'exchange-unfit' })
}

const usable = [accessToken, 'urn:ietf:params:oauth:token-type:jwt']
