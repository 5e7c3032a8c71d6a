import * as oauth from 'oauth4webapi'
import { oauthFetch, wellTypedMembers } from '../../auth/oauth-fetch.ts'
import { toBase64 } from '../../base/base64.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { Fetch } from '../../http/fetch.ts'
import { networkFailureOf } from '../../http/network-failure.ts'
import type { SecurityScheme } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import { credentialError } from './authorize.ts'
import { discoverySuffix, type OAuthClient, requireSecure, reveal, type Token, withoutQuery } from './oauth-client.ts'

/** Bytes of a response. */
const maxBytes = 2 ** 16

/** Milliseconds until a response must be complete. */
const timeout = 30_000

/** The lifetime of a token that names none, in seconds. It is renewed as soon as the agent rejects it. */
const defaultLifetime = 3600

/** The lifetime of a device code that names none, in seconds. RFC 8628 requires one, but not every server sends it. */
const defaultDeviceCodeLifetime = 600

/** One run of a flow: the authorization server, and the client as oauth4webapi takes it. */
export interface Grant {
  readonly server: oauth.AuthorizationServer & { readonly token_endpoint: string }
  /** Whether `server.issuer` is the issuer. It is known from discovery only; otherwise it is the token endpoint. */
  readonly hasIssuer: boolean
  readonly refreshUrl: string
  readonly client: oauth.Client
  readonly authentication: oauth.ClientAuth
  readonly options: oauth.TokenEndpointRequestOptions
  /** The scopes to request, separated by spaces; undefined if there are none. */
  readonly scope: string | undefined
}

/**
 * Prepares a flow with the server that the card names or that OpenID Connect discovery finds. If the client pins a token
 * endpoint or an issuer, it must be the same.
 */
export async function createGrant(
  scheme: SecurityScheme,
  client: OAuthClient,
  fetch: Fetch,
  scope: string | undefined,
): Promise<Grant> {
  const options = {
    [oauth.customFetch]: credentialFetch(fetch),
    // `credentialFetch` checks every URL.
    [oauth.allowInsecureRequests]: true,
  }
  const endpoints = scheme.type === 'openid' ? await discover(scheme.url, options) : endpointsOfFlow(scheme)
  const { server, hasIssuer } = endpoints
  const tokenUrl = requireSecure(server.token_endpoint)
  const isOtherEndpoint = client.tokenUrl !== undefined && client.tokenUrl !== tokenUrl
  const isOtherIssuer = client.issuer !== undefined && hasIssuer && client.issuer !== server.issuer
  if (isOtherEndpoint || isOtherIssuer) {
    const problem = `The card leads to ${withoutQuery(tokenUrl)} for tokens, which the credentials are not for.`
    throw credentialError('not-trusted', problem, 'Compare tokenUrl and issuer with those of the card.')
  }
  return {
    ...endpoints,
    client: { client_id: client.clientId },
    authentication: authenticationOf(client),
    options: { ...options, additionalParameters: client.parameters },
    scope,
  }
}

type Endpoints = Pick<Grant, 'server' | 'hasIssuer' | 'refreshUrl'>

/** OpenID Connect Discovery 1.0 §4. */
async function discover(url: string, options: oauth.DiscoveryRequestOptions): Promise<Endpoints> {
  const issuer = requireSecure(url).replace(discoverySuffix, '')
  if (issuer === url) throw otherIssuer(url)
  const response = await oauth.discoveryRequest(new URL(issuer), { ...options, algorithm: 'oidc' })
  const metadata: JsonObject = await response.clone().json()
  if (metadata.issuer !== undefined && !URL.canParse(`${metadata.issuer}`)) throw otherIssuer(url)
  // An issuer may end with a slash, which its discovery URL does not show.
  const expectedIssuer = metadata.issuer === `${issuer}/` ? `${issuer}/` : issuer
  try {
    const server = await oauth.processDiscoveryResponse(new URL(expectedIssuer), response)
    const { token_endpoint } = server
    if (token_endpoint === undefined) throw noEndpoint(withoutQuery(url))
    return { server: { ...server, token_endpoint }, hasIssuer: true, refreshUrl: token_endpoint }
  } catch (error) {
    if (!(error instanceof oauth.OperationProcessingError)) throw error
    // Otherwise one issuer could speak for another (§4.3).
    throw error.code === oauth.JSON_ATTRIBUTE_COMPARISON ? otherIssuer(url) : noEndpoint(withoutQuery(url))
  }
}

function otherIssuer(url: string): A2AError {
  const problem = `${withoutQuery(url)} is not the discovery document of the issuer that it names.`
  return credentialError('not-trusted', problem, 'The url of the scheme must be that of its issuer.')
}

function endpointsOfFlow(scheme: SecurityScheme): Endpoints {
  const flow = scheme.type === 'oauth2' ? scheme.flow : undefined
  if (!flow || !('tokenUrl' in flow)) throw noEndpoint('the card')
  const { tokenUrl, refreshUrl = tokenUrl } = flow
  // The secret also goes to this URL, and the client pins only the token endpoint.
  const isSameOrigin = URL.canParse(refreshUrl) && new URL(refreshUrl).origin === new URL(tokenUrl).origin
  return {
    server: defined({
      issuer: tokenUrl,
      token_endpoint: tokenUrl,
      authorization_endpoint: 'authorizationUrl' in flow ? flow.authorizationUrl : undefined,
      device_authorization_endpoint: 'deviceAuthorizationUrl' in flow ? flow.deviceAuthorizationUrl : undefined,
    }),
    hasIssuer: false,
    refreshUrl: isSameOrigin ? refreshUrl : tokenUrl,
  }
}

export function noEndpoint(where: string): A2AError {
  const problem = `There is no endpoint for this OAuth 2 flow at ${where}.`
  return credentialError('unfit', problem, 'Use credentials for another flow, or another scheme of the card.')
}

/** Client authentication by RFC 6749 §2.3.1. The secret is read anew for every request. */
function authenticationOf({ clientSecret, clientAuthentication = 'basic' }: OAuthClient): oauth.ClientAuth {
  if (clientSecret === undefined) return oauth.None()
  return async (server, client, body, headers) => {
    const secret = await reveal(clientSecret)
    if (clientAuthentication === 'post') return oauth.ClientSecretPost(secret)(server, client, body, headers)
    // Unlike `ClientSecretBasic`, it leaves "-", "_" and "." as they are: not every server decodes them.
    const pair = `${formEncode(client.client_id)}:${formEncode(secret)}`
    headers.set('authorization', `Basic ${toBase64(new TextEncoder().encode(pair))}`)
  }
}

function formEncode(text: string): string {
  return `${new URLSearchParams({ '': text })}`.slice(1)
}

/** Reads the token in the response of the token endpoint. */
export function readToken(request: Promise<Response>, grant: Pick<Grant, 'server' | 'client'>): Promise<Token> {
  return readTokenOrError<never>(request, grant, [])
}

/** Reads the token in the response of the token endpoint, or returns its error code if that is an expected one. */
export async function readTokenOrError<Code extends string>(
  request: Promise<Response>,
  { server, client }: Pick<Grant, 'server' | 'client'>,
  expectedErrors: readonly Code[],
): Promise<Token | Code> {
  const url = server.token_endpoint
  try {
    const response = await oauth.processGenericTokenEndpointResponse(server, client, await request)
    const { access_token, token_type, expires_in = defaultLifetime, refresh_token } = response
    if (token_type !== 'bearer') throw notBearer(url)
    return defined({
      accessToken: access_token,
      expiresAt: Date.now() + expires_in * 1000,
      refreshToken: refresh_token,
    })
  } catch (error) {
    const code = error instanceof oauth.ResponseBodyError && expectedErrors.find((expected) => expected === error.error)
    if (code) return code
    throw toCredentialError(error, url)
  }
}

/** An error of oauth4webapi as one of ours, which contains nothing of the response. Other errors pass through. */
export function toCredentialError(error: unknown, url: string): unknown {
  if (error instanceof oauth.ResponseBodyError || error instanceof oauth.AuthorizationResponseError) {
    return refusal(url, error.error)
  }
  if (error instanceof oauth.UnsupportedOperationError) return notBearer(url)
  return error instanceof oauth.OperationProcessingError ? refusal(url, undefined) : error
}

function notBearer(url: string): A2AError {
  const problem = `${withoutQuery(url)} gives tokens that are not bearer tokens.`
  return credentialError('unfit', problem, 'Set the client up for bearer tokens there.')
}

/** Shows only error codes of the standards: any other text may be the secret again. */
export function refusal(url: string, error: string | undefined): A2AError {
  const code = error !== undefined && errorCodes.test(error) ? error : 'an error code of its own'
  const problem = `${withoutQuery(url)} gives no token: ${code}.`
  return credentialError('refused', problem, hints.get(code) ?? 'Check clientId, secret and scopes there.')
}

const errorCodes =
  /^(invalid_(request|client|grant|scope|target|token)|un(authorized_client|supported_grant_type|supported_response_type)|access_denied|expired_token|server_error|temporarily_unavailable|(login|consent|interaction)_required)$/

const hints: ReadonlyMap<string, string> = new Map([
  ['invalid_client', 'The clientId is not known there, or its secret is another one.'],
  ['invalid_scope', 'This client may not request the scopes that the card requires.'],
  ['unauthorized_client', 'This client may not use this flow.'],
  ['unsupported_grant_type', 'This flow is not offered there.'],
  ['access_denied', 'The user or the server denied access.'],
  ['expired_token', 'The user did not answer in time: start again.'],
])

/** Every request of a flow goes through it, so that none goes to an insecure URL and no failure reveals a secret. */
function credentialFetch(fetch: Fetch) {
  return async (url: string, init: RequestInit): Promise<Response> => {
    requireSecure(url)
    const readBody = (body: unknown, status: number) => {
      if (typeof body === 'object' && body !== null) return readMembers(body)
      const problem = `${withoutQuery(url)} answered with HTTP status ${status}, and not with JSON.`
      throw credentialError('garbage', problem, 'Check the addresses of the token and discovery endpoints.')
    }
    try {
      return await oauthFetch(url, init, { fetch, timeout, maxBytes, readBody })
    } catch (error) {
      if (error instanceof A2AError) throw error
      // The message of the platform may contain the request.
      const isTimeout = error instanceof Error && error.name === 'TimeoutError'
      const problem = `${withoutQuery(url)} gives no credentials: ${isTimeout ? 'it takes too long' : networkFailureOf(error)}.`
      throw credentialError('unreachable', problem, 'Check that it runs and can be reached from here.')
    }
  }
}

/** The members that the flows use, with defaults for required ones that servers leave out. */
function readMembers(body: object): JsonObject {
  const members = wellTypedMembers(body, {
    strings: [
      ...['access_token', 'token_type', 'refresh_token', 'error'],
      ...['issuer', 'token_endpoint', 'authorization_endpoint', 'device_authorization_endpoint'],
      ...['device_code', 'user_code', 'verification_uri', 'verification_uri_complete'],
    ],
    numbers: ['expires_in', 'interval'],
  })
  const namesIssParameter = 'authorization_response_iss_parameter_supported' in body
  return {
    token_type: 'Bearer',
    ...defined({
      expires_in: members.device_code === undefined ? undefined : defaultDeviceCodeLifetime,
      authorization_response_iss_parameter_supported: namesIssParameter
        ? body.authorization_response_iss_parameter_supported === true
        : undefined,
    }),
    ...members,
  }
}
