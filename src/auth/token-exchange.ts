import * as oauth from 'oauth4webapi'
import { BoundedMap } from '../base/bounded-map.ts'
import { sha256 } from '../base/hash.ts'
import type { Fetch } from '../http/fetch.ts'
import { A2AError } from '../protocol/errors.ts'
import type { ExchangeRequest, TokenExchange } from '../protocol/principal.ts'
import { requireSecureUrl } from './fetch-json.ts'
import { oauthFetch, wellTypedMembers } from './oauth-fetch.ts'

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
      const { token, life } = await exchange(url, options, asked)
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

async function exchange(url: string, options: TokenExchangeOptions, request: ExchangeRequest) {
  const { subjectToken, audience, scopes } = request
  const { clientId, target = 'audience', parameters } = options
  const server = { issuer: url, token_endpoint: url }
  const client = { client_id: clientId }
  const form = {
    ...parameters,
    subject_token: subjectToken,
    subject_token_type: accessToken,
    requested_token_type: accessToken,
    [target]: audience,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
  const requestOptions = {
    [oauth.customFetch]: exchangeFetch(options),
    // `tokenExchange` has checked the URL.
    [oauth.allowInsecureRequests]: true,
  }
  const authentication = authenticationOf(options)
  try {
    const response = await oauth.genericTokenEndpointRequest(
      server,
      client,
      authentication,
      grantType,
      form,
      requestOptions,
    )
    const token = await oauth.processGenericTokenEndpointResponse(server, client, response)
    const { access_token, token_type, issued_token_type, expires_in = aMinute } = token
    // RFC 8693 §2.2.1: both say what the token can be used for.
    if (token_type !== 'bearer') throw unfit('no bearer token')
    if (typeof issued_token_type === 'string' && !usable.includes(issued_token_type)) throw unfit('no access token')
    return { token: access_token, life: expires_in * 1000 }
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError) throw refused(error.error)
    if (error instanceof oauth.OperationProcessingError) throw refused(undefined)
    throw error instanceof oauth.UnsupportedOperationError ? unfit('no bearer token') : error
  }
}

function authenticationOf({ clientSecret, clientAuthentication = 'basic' }: TokenExchangeOptions): oauth.ClientAuth {
  if (clientAuthentication === 'post') return oauth.ClientSecretPost(clientSecret)
  // Unlike `ClientSecretBasic`, it leaves "-", "_" and "." as they are: not every server decodes them.
  return (_server, { client_id }, _body, headers) =>
    headers.set(
      'authorization',
      `Basic ${btoa(`${encodeURIComponent(client_id)}:${encodeURIComponent(clientSecret)}`)}`,
    )
}

/** A failure may contain a secret: it is neither shown nor kept as a cause. */
function exchangeFetch({ fetch = globalThis.fetch }: TokenExchangeOptions) {
  const readBody = (body: unknown) => {
    if (body === undefined) throw new Error('no JSON')
    const strings = ['access_token', 'token_type', 'issued_token_type', 'error']
    return { token_type: 'none', ...wellTypedMembers(body, { strings, numbers: ['expires_in'] }) }
  }
  return async (url: string, init: RequestInit): Promise<Response> => {
    try {
      return await oauthFetch(url, init, { fetch, timeout, maxBytes, readBody })
    } catch {
      const text = 'The token endpoint gave no answer that can be read.'
      throw new A2AError('unavailable', text, { reason: 'exchange-unreachable' })
    }
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
