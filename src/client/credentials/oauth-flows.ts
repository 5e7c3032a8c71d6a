import { sleep, systemClock } from '../../base/clock.ts'
import type { Fetch } from '../../http/fetch.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import type { CredentialProvider } from '../../protocol/principal.ts'
import {
  bare,
  checkClient,
  createTokenStore,
  credentialError,
  discoveryUrl,
  fitsClient,
  type OAuthClient,
  requireSecure,
  type Token,
} from './oauth-client.ts'
import { askForm, askToken, type Endpoints, endpointsOf, incomplete, refusal, tryToken } from './token-endpoint.ts'

const anHour = 3600

const never = new AbortController().signal

export interface AuthorizationCodeOptions extends OAuthClient {
  /** Where the user is sent back to, as it is registered there. */
  readonly redirectUri: string
  /** Opens this address for the user, and gives the one that the user was sent back to, with its query. */
  readonly authorize: (url: string) => Promise<string | URL>
}

/** Tokens for a user who agrees in a browser: with PKCE always (RFC 7636), and with a state that is checked. */
export function authorizationCode(client: AuthorizationCodeOptions): CredentialProvider {
  return oauthProvider({ name: 'authorizationCode', flow: 'authorization-code', client, obtain })
}

/** Tokens for a program of its own (RFC 6749 §4.4), by `oauth2` and `openid` schemes. */
export function clientCredentials(client: OAuthClient): CredentialProvider {
  return oauthProvider({
    name: 'clientCredentials',
    flow: 'client-credentials',
    client,
    obtain: ({ fetch, endpoints, scope }) =>
      askToken(fetch, endpoints.tokenUrl, client, { grant_type: 'client_credentials', ...(scope && { scope }) }),
  })
}

/** What somebody has to do somewhere else. */
export interface DevicePrompt {
  readonly userCode: string
  readonly verificationUri: string
  /** With the code in it. */
  readonly verificationUriComplete?: string
  readonly expiresAt: Date
}

export interface DeviceCodeOptions extends OAuthClient {
  /** Shows it to the user. Meanwhile it is waited for. */
  readonly onPrompt: (prompt: DevicePrompt) => void | Promise<void>
}

/** Tokens for a user who agrees on another device (RFC 8628). Give calls that wait for it a longer `timeout`. */
export function deviceCode(client: DeviceCodeOptions): CredentialProvider {
  return oauthProvider({ name: 'deviceCode', flow: 'device-code', client, obtain: obtainDeviceCode })
}

export interface FlowStart {
  readonly fetch: Fetch
  readonly endpoints: Endpoints
  /** As they are asked for; undefined if none are. */
  readonly scope: string | undefined
}

export interface OAuthProviderOptions<Client extends OAuthClient> {
  /** For what is said if it is set up wrongly. */
  readonly name: string
  readonly flow: OAuthFlow['type']
  readonly client: Client
  /** Goes through the flow. */
  readonly obtain: (start: FlowStart, client: Client) => Promise<Token>
}

async function obtain(start: FlowStart, client: AuthorizationCodeOptions): Promise<Token> {
  const { fetch, scope, endpoints } = start
  const { authorizationUrl, tokenUrl, issuer } = endpoints
  if (authorizationUrl === undefined) throw incomplete(bare(tokenUrl))
  const { clientId, redirectUri, authorize, parameters } = client
  const verifier = random()
  const state = random()
  const url = new URL(requireSecure(authorizationUrl))
  const asked = {
    ...parameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    ...(scope && { scope }),
    state,
    code_challenge: await challengeOf(verifier),
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(asked)) url.searchParams.set(name, value)
  const { searchParams: back } = new URL(await authorize(url.href), redirectUri)
  // Who does not know them did not come from there (RFC 9700 §4.7, RFC 9207).
  if (back.get('state') !== state || (issuer !== undefined && back.has('iss') && back.get('iss') !== issuer)) {
    throw credentialError('not-trusted', 'The user came back from somewhere else.', 'Start again.')
  }
  const code = back.get('code')
  if (code === null) throw refusal(authorizationUrl, back.get('error'))
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  return await askToken(fetch, tokenUrl, client, form)
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (each) => ({ '+': '-', '/': '_' })[each] ?? '')
}

async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

/** Tokens by one flow of OAuth 2, kept until they end or are refused, and refreshed where that is possible. */
function oauthProvider<Client extends OAuthClient>(options: OAuthProviderOptions<Client>): CredentialProvider {
  const { name, flow, client, obtain } = options
  checkClient(name, client)
  const store = createTokenStore()
  const assumed = assumedFor(flow, client)
  return {
    fits: (scheme) => fitsClient(scheme, flow, client),
    async credentialsFor({ scheme, scopes, fetch, refused }) {
      const all = [...new Set([...scopes, ...(client.scopes ?? [])])]
      const scope = all.length === 0 ? undefined : all.join(' ')
      const last = refused?.headers?.authorization?.replace(/^Bearer /, '')
      const { accessToken } = await store.get(`${placeOf(scheme)} ${scope ?? ''}`, last, async (known) => {
        const start = { fetch, scope, endpoints: await endpointsOf(scheme, client, fetch) }
        return (
          (known?.refreshToken && (await refreshed(known.refreshToken, start, client))) || (await obtain(start, client))
        )
      })
      return { headers: { authorization: `Bearer ${accessToken}` } }
    },
    ...(assumed && { assumed }),
  }
}

/** Without a card, only what was pinned tells where to go. */
function assumedFor(flow: OAuthFlow['type'], { issuer, tokenUrl }: OAuthClient): SecurityScheme | undefined {
  if (issuer !== undefined) return { type: 'openid', url: discoveryUrl(issuer) }
  if (tokenUrl === undefined || flow !== 'client-credentials') return undefined
  return { type: 'oauth2', flow: { type: flow, tokenUrl, scopes: {} } }
}

function placeOf(scheme: SecurityScheme): string {
  if (scheme.type === 'openid') return scheme.url
  return scheme.type === 'oauth2' && 'tokenUrl' in scheme.flow ? scheme.flow.tokenUrl : ''
}

/** Undefined if the flow has to be gone through again. */
async function refreshed(
  token: string,
  { fetch, endpoints }: FlowStart,
  client: OAuthClient,
): Promise<Token | undefined> {
  const form = { grant_type: 'refresh_token', refresh_token: token }
  const answer = await tryToken(fetch, endpoints.refreshUrl, client, form, ['invalid_grant', 'invalid_token'])
  // Where it is not exchanged for a new one, it still holds (RFC 6749 §6).
  return typeof answer === 'string' ? undefined : { refreshToken: token, ...answer }
}

async function obtainDeviceCode(start: FlowStart, client: DeviceCodeOptions): Promise<Token> {
  const { fetch, scope, endpoints } = start
  const { deviceAuthorizationUrl: url, tokenUrl } = endpoints
  if (url === undefined) throw incomplete(bare(tokenUrl))
  const form = { client_id: client.clientId, ...(scope && { scope }) }
  const { body } = await askForm(fetch, url, client, form)
  const { device_code, user_code, verification_uri, verification_uri_complete } = body
  if (typeof device_code !== 'string' || typeof user_code !== 'string' || typeof verification_uri !== 'string') {
    throw refusal(url, body.error)
  }
  const expiresAt = Date.now() + Math.min(secondsOf(body.expires_in, 600), anHour) * 1000
  await client.onPrompt({
    userCode: user_code,
    verificationUri: verification_uri,
    expiresAt: new Date(expiresAt),
    ...(typeof verification_uri_complete === 'string' && { verificationUriComplete: verification_uri_complete }),
  })
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code }
  for (let interval = Math.max(1, secondsOf(body.interval, 5)); Date.now() < expiresAt; ) {
    await sleep(interval * 1000, never, systemClock)
    const answer = await tryToken(fetch, tokenUrl, client, grant, ['authorization_pending', 'slow_down'])
    if (typeof answer !== 'string') return answer
    if (answer === 'slow_down') interval += 5
  }
  throw refusal(tokenUrl, 'expired_token')
}

function secondsOf(value: unknown, otherwise: number): number {
  return typeof value === 'number' && value >= 0 ? value : otherwise
}
