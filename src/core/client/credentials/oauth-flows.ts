import * as oauth from 'oauth4webapi'
import { sleep, systemClock } from '../../base/clock.ts'
import { defined } from '../../base/json.ts'
import { aFunction, text } from '../../base/options.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import type { CredentialProvider } from '../../protocol/credentials.ts'
import { credentialError } from './authorize.ts'
import {
  checkClient,
  createTokenStore,
  discoveryUrl,
  fitsClient,
  type OAuthClient,
  requireSecure,
  type Token,
  withoutQuery,
} from './oauth-client.ts'
import {
  createGrant,
  type Grant,
  noEndpoint,
  readToken,
  readTokenOrError,
  refusal,
  toCredentialError,
} from './token-endpoint.ts'

/** The longest time in seconds for which a device code is polled. */
const maxDeviceCodeLifetime = 3600

/** Seconds between two polls with a device code, unless the server names another interval (RFC 8628 §3.5). */
const defaultInterval = 5

/** Options of `authorizationCode`. */
export interface AuthorizationCodeOptions extends OAuthClient {
  /** The redirect URI, as it is registered with the authorization server. */
  readonly redirectUri: string
  /** Opens the URL for the user, and returns the URL to which the user was redirected, with its query. */
  readonly authorize: (url: string) => Promise<string | URL>
}

/** Tokens for a user who agrees in a browser (RFC 6749 §4.1), always with PKCE (RFC 7636) and a checked state. */
export function authorizationCode(options: AuthorizationCodeOptions): CredentialProvider {
  checkClient('authorizationCode', options, { redirectUri: text, authorize: aFunction })
  return oauthProvider({
    flow: 'authorization-code',
    client: options,
    obtain: (grant) => obtainByCode(grant, options),
  })
}

/**
 * Fetches tokens for a program that acts on its own behalf (RFC 6749 §4.4), for `oauth2` and `openid` schemes.
 *
 * @example
 * const credentials = clientCredentials({ clientId: 'shop', clientSecret: secret, issuer: 'https://login.example.com' })
 * const client = await connect('https://agent.example.com', { auth: [credentials] })
 */
export function clientCredentials(client: OAuthClient): CredentialProvider {
  checkClient('clientCredentials', client, {})
  return oauthProvider({ flow: 'client-credentials', client, obtain: obtainByCredentials })
}

/** What a user has to do on another device. */
export interface DevicePrompt {
  readonly userCode: string
  readonly verificationUri: string
  /** The URI that already contains the code. */
  readonly verificationUriComplete?: string
  readonly expiresAt: Date
}

/** Options of `deviceCode`. */
export interface DeviceCodeOptions extends OAuthClient {
  /** Shows the prompt to the user. Meanwhile the client polls for the token. */
  readonly onPrompt: (prompt: DevicePrompt) => void | Promise<void>
}

/** Tokens for a user who agrees on another device (RFC 8628). Calls that wait for the user need a longer `timeout`. */
export function deviceCode(options: DeviceCodeOptions): CredentialProvider {
  checkClient('deviceCode', options, { onPrompt: aFunction })
  return oauthProvider({
    flow: 'device-code',
    client: options,
    obtain: (grant) => obtainByDevice(grant, options),
  })
}

interface OAuthProviderOptions {
  readonly flow: OAuthFlow['type']
  readonly client: OAuthClient
  readonly obtain: (grant: Grant) => Promise<Token>
}

/** Tokens of one OAuth 2 flow, cached until they expire or the agent rejects them, and refreshed if possible. */
function oauthProvider({ flow, client, obtain }: OAuthProviderOptions): CredentialProvider {
  const store = createTokenStore(client.tokens)
  const assumed = assumedScheme(flow, client)
  return {
    fits: (scheme) => fitsClient(scheme, flow, client),
    async credentialsFor({ scheme, scopes, fetch, refused }) {
      const allScopes = [...new Set([...scopes, ...(client.scopes ?? [])])]
      const scope = allScopes.length === 0 ? undefined : allScopes.join(' ')
      const rejectedToken = refused?.headers?.authorization?.replace(/^Bearer /, '')
      const { accessToken } = await store.get(`${serverOf(scheme)} ${scope ?? ''}`, rejectedToken, async (last) => {
        const grant = await createGrant(scheme, client, fetch, scope)
        return (last?.refreshToken && (await refresh(last.refreshToken, grant))) || (await obtain(grant))
      })
      return { headers: { authorization: `Bearer ${accessToken}` } }
    },
    ...defined({ assumed }),
  }
}

/** The scheme for an agent without a readable card: only what the client pins can be trusted then. */
function assumedScheme(flow: OAuthFlow['type'], { issuer, tokenUrl }: OAuthClient): SecurityScheme | undefined {
  if (issuer !== undefined) return { type: 'openid', url: discoveryUrl(issuer) }
  if (tokenUrl === undefined || flow !== 'client-credentials') return undefined
  return { type: 'oauth2', flow: { type: flow, tokenUrl, scopes: {} } }
}

function serverOf(scheme: SecurityScheme): string {
  if (scheme.type === 'openid') return scheme.url
  return scheme.type === 'oauth2' && 'tokenUrl' in scheme.flow ? scheme.flow.tokenUrl : ''
}

/** Returns undefined if the refresh token is no longer valid, so that the flow has to run again. */
async function refresh(refreshToken: string, grant: Grant): Promise<Token | undefined> {
  const { client, authentication, options, refreshUrl } = grant
  const server = { ...grant.server, token_endpoint: refreshUrl }
  const request = oauth.refreshTokenGrantRequest(server, client, authentication, refreshToken, options)
  const token = await readTokenOrError(request, { server, client }, ['invalid_grant', 'invalid_token'])
  // A server that issues no new refresh token keeps the old one valid (RFC 6749 §6).
  return typeof token === 'string' ? undefined : { refreshToken, ...token }
}

async function obtainByCredentials(grant: Grant): Promise<Token> {
  const { server, client, authentication, options, scope } = grant
  const parameters = { ...options.additionalParameters, ...defined({ scope: scope || undefined }) }
  return await readToken(
    oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, options),
    grant,
  )
}

async function obtainByCode(grant: Grant, options: AuthorizationCodeOptions): Promise<Token> {
  const { server, client, authentication } = grant
  const { redirectUri, authorize } = options
  const verifier = oauth.generateRandomCodeVerifier()
  const state = oauth.generateRandomState()
  const url = await authorizationUrl(grant, options, verifier, state)
  const callback = readCallback(new URL(await authorize(url.href), redirectUri), url, state, grant)
  return await readToken(
    oauth.authorizationCodeGrantRequest(server, client, authentication, callback, redirectUri, verifier, grant.options),
    grant,
  )
}

async function authorizationUrl(
  { server, scope }: Grant,
  { clientId, redirectUri, parameters }: AuthorizationCodeOptions,
  verifier: string,
  state: string,
): Promise<URL> {
  if (server.authorization_endpoint === undefined) throw noEndpoint(withoutQuery(server.token_endpoint))
  const url = new URL(requireSecure(server.authorization_endpoint))
  const query = {
    ...parameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    ...defined({ scope: scope || undefined }),
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  return url
}

/** Checks that the callback answers this request: by its state (RFC 9700 §4.7) and its issuer (RFC 9207). */
function readCallback(callback: URL, url: URL, state: string, { server, client, hasIssuer }: Grant): URLSearchParams {
  if (!hasIssuer) callback.searchParams.delete('iss')
  try {
    const parameters = oauth.validateAuthResponse(server, client, callback, state)
    if (!parameters.has('code')) throw refusal(url.href, undefined)
    return parameters
  } catch (error) {
    const isForged = error instanceof oauth.OperationProcessingError || error instanceof oauth.UnsupportedOperationError
    if (isForged)
      throw credentialError('not-trusted', 'The redirect of the user does not belong to this request.', 'Start again.')
    throw toCredentialError(error, url.href)
  }
}

async function obtainByDevice(grant: Grant, { onPrompt }: DeviceCodeOptions): Promise<Token> {
  const { server, client, authentication, options } = grant
  const { device_code, interval = defaultInterval, expiresAt, prompt } = await requestDeviceCode(grant)
  await onPrompt(prompt)
  for (let pause = Math.max(1, interval); Date.now() < expiresAt; ) {
    await sleep(pause * 1000, neverAborted, systemClock)
    const request = oauth.deviceCodeGrantRequest(server, client, authentication, device_code, options)
    const token = await readTokenOrError(request, grant, ['authorization_pending', 'slow_down'])
    if (typeof token !== 'string') return token
    if (token === 'slow_down') pause += 5
  }
  throw refusal(server.token_endpoint, 'expired_token')
}

const neverAborted = new AbortController().signal

async function requestDeviceCode({ server, client, authentication, options, scope }: Grant) {
  const url = server.device_authorization_endpoint
  if (url === undefined) throw noEndpoint(withoutQuery(server.token_endpoint))
  const parameters = { ...options.additionalParameters, ...defined({ scope: scope || undefined }) }
  try {
    const response = await oauth.deviceAuthorizationRequest(server, client, authentication, parameters, options)
    const device = await oauth.processDeviceAuthorizationResponse(server, client, response)
    const expiresAt = Date.now() + Math.min(device.expires_in, maxDeviceCodeLifetime) * 1000
    const prompt: DevicePrompt = defined({
      userCode: device.user_code,
      verificationUri: device.verification_uri,
      expiresAt: new Date(expiresAt),
      verificationUriComplete: device.verification_uri_complete || undefined,
    })
    return { ...device, expiresAt, prompt }
  } catch (error) {
    throw toCredentialError(error, url)
  }
}
