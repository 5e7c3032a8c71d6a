import * as oauth from 'oauth4webapi'
import { BoundedMap } from '../base/bounded-map.ts'
import { sha256Key } from '../base/hash.ts'
import { defined } from '../base/json.ts'
import { aFunction, anything, checkOptions, type OptionChecks, oneOf, recordOf, text } from '../base/options.ts'
import type { Fetch } from '../http/fetch.ts'
import type { ExchangeRequest, TokenExchange } from '../protocol/credentials.ts'
import { A2AError } from '../protocol/errors.ts'
import { requireSecureUrl } from './fetch-json.ts'
import { oauthFetch, wellTypedMembers } from './oauth-fetch.ts'

const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'

const usableTokenTypes = [accessTokenType, 'urn:ietf:params:oauth:token-type:jwt']

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'

/** Milliseconds before its expiry from which a token is no longer returned; a fifth of the lifetime of short tokens. */
const expiryMargin = 30_000

/** Tokens in the cache. */
const maxTokens = 1_000

/** Milliseconds until a response must be complete. */
const timeout = 10_000

/** Bytes of a response. */
const maxBytes = 64 * 1024

/** The lifetime of a token that names none, in seconds. */
const defaultLifetime = 60

const errorCodes =
  /^(invalid_(request|client|grant|scope|target|token)|un(authorized_client|supported_grant_type)|access_denied|server_error|temporarily_unavailable)$/

/** Options of `tokenExchange`. */
export interface TokenExchangeOptions {
  /** The token endpoint (RFC 8693 §2). */
  readonly tokenUrl: string | URL
  /** The credentials by which this agent authenticates to the token endpoint. */
  readonly clientId: string
  readonly clientSecret: string
  /** How the secret is sent: in the header (`basic`) or in the form (`post`). Defaults to `basic`. */
  readonly clientAuthentication?: 'basic' | 'post'
  /** Whether the request names the `audience` of the token or the URL of a `resource`. Defaults to `audience`. */
  readonly target?: 'audience' | 'resource'
  /** Further parameters of the request, such as `actor_token`. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly fetch?: Fetch
}

const optionChecks: OptionChecks<TokenExchangeOptions> = {
  // Checked by `requireSecureUrl`.
  tokenUrl: anything,
  clientId: text,
  clientSecret: text,
  clientAuthentication: oneOf('basic', 'post'),
  target: oneOf('audience', 'resource'),
  parameters: recordOf(text),
  fetch: aFunction,
}

/**
 * Exchanges the tokens of callers for tokens of other audiences. A new token is cached until it expires, under a digest
 * of the token that it was exchanged for.
 */
export function tokenExchange(options: TokenExchangeOptions): TokenExchange {
  checkOptions('tokenExchange', options, optionChecks, ['clientId', 'clientSecret'])
  const url = requireSecureUrl('tokenExchange.tokenUrl', options.tokenUrl)
  const tokens = new BoundedMap<string, string>(maxTokens)
  const pending = new Map<string, Promise<string>>()

  async function obtain(key: string, request: ExchangeRequest): Promise<string> {
    try {
      const { token, lifetime } = await exchange(url, options, request)
      tokens.set(key, token, Date.now() + lifetime - Math.min(expiryMargin, lifetime / 5))
      return token
    } finally {
      pending.delete(key)
    }
  }

  return async (request) => {
    const { subjectToken, audience, scopes } = request
    const key = sha256Key(JSON.stringify([subjectToken, audience, [...scopes].sort()]))
    const cached = tokens.get(key)
    if (cached !== undefined) return cached
    const token = pending.get(key) ?? obtain(key, request)
    pending.set(key, token)
    return await token
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
    subject_token_type: accessTokenType,
    requested_token_type: accessTokenType,
    [target]: audience,
    ...defined({ scope: scopes.length > 0 ? scopes.join(' ') : undefined }),
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
    const { access_token, token_type, issued_token_type, expires_in = defaultLifetime } = token
    // RFC 8693 §2.2.1: both say what the token can be used for.
    if (token_type !== 'bearer') throw unusable('no bearer token')
    if (typeof issued_token_type === 'string' && !usableTokenTypes.includes(issued_token_type)) {
      throw unusable('no access token')
    }
    return { token: access_token, lifetime: expires_in * 1000 }
  } catch (error) {
    if (error instanceof oauth.ResponseBodyError) throw refused(error.error)
    if (error instanceof oauth.OperationProcessingError) throw refused(undefined)
    throw error instanceof oauth.UnsupportedOperationError ? unusable('no bearer token') : error
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
      const text = 'The token endpoint gave no readable response.'
      throw new A2AError('unavailable', text, { reason: 'exchange-unreachable' })
    }
  }
}

/** Shows only error codes of the standards: any other text may be the token again. */
function refused(error: string | undefined): A2AError {
  const code = error !== undefined && errorCodes.test(error) ? error : 'an error code of its own'
  const text = `The token endpoint gives no token for this: ${code}.`
  return new A2AError('forbidden', text, { reason: 'exchange-refused', metadata: { error: code } })
}

function unusable(what: string): A2AError {
  return new A2AError('forbidden', `The token endpoint gave ${what}.`, { reason: 'exchange-unfit' })
}
