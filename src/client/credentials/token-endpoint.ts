import type { Fetch } from '../../http/fetch.ts'
import { networkFailureOf } from '../../http/network-failure.ts'
import { readLimited } from '../../http/read-limited.ts'
import type { SecurityScheme } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'
import {
  bare,
  credentialError,
  discoveryUrl,
  type OAuthClient,
  requireSecure,
  reveal,
  type Token,
} from './oauth-client.ts'
import { base64 } from './static-credentials.ts'

const maxBytes = 2 ** 16

const timeout = 30_000

/** Of a token that does not say how long it lives, in seconds. It is renewed as soon as it is refused. */
const anHour = 3600

const known =
  /^(invalid_(request|client|grant|scope|target|token)|un(authorized_client|supported_grant_type|supported_response_type)|access_denied|expired_token|server_error|temporarily_unavailable|(login|consent|interaction)_required)$/

/** Asks a token endpoint (RFC 6749 §4). */
export function askToken(fetch: Fetch, url: string, client: OAuthClient, form: Form): Promise<Token> {
  return tryToken<never>(fetch, url, client, form, [])
}

/** Where the parts of a flow are. */
export interface Endpoints {
  readonly tokenUrl: string
  readonly refreshUrl: string
  readonly authorizationUrl?: string
  readonly deviceAuthorizationUrl?: string
  readonly issuer?: string
}

/** By the card, or by OpenID Connect discovery; whatever the client has pinned must be the same. */
export async function endpointsOf(scheme: SecurityScheme, client: OAuthClient, fetch: Fetch): Promise<Endpoints> {
  const found = scheme.type === 'openid' ? await discover(scheme.url, fetch) : ofFlow(scheme)
  requireSecure(found.tokenUrl)
  const isForeign = client.tokenUrl !== undefined && client.tokenUrl !== found.tokenUrl
  if (isForeign || (client.issuer !== undefined && found.issuer !== undefined && client.issuer !== found.issuer)) {
    const problem = `The card leads to ${bare(found.tokenUrl)} for tokens, which is not whom the credentials are for.`
    throw credentialError('not-trusted', problem, 'Compare tokenUrl and issuer with what the agent tells.')
  }
  return found
}

/** The same, but gives the word for a refusal if it is one of these. */
export async function tryToken<Code extends string>(
  fetch: Fetch,
  url: string,
  client: OAuthClient,
  form: Form,
  expected: readonly Code[],
): Promise<Token | Code> {
  const { isOk, body } = await askForm(fetch, url, client, form)
  const { access_token, token_type, expires_in, refresh_token, error } = body
  if (!isOk || typeof access_token !== 'string') {
    const code = expected.find((each) => each === error)
    if (code !== undefined) return code
    throw refusal(url, error)
  }
  if (typeof token_type === 'string' && token_type.toLowerCase() !== 'bearer') {
    const problem = `${bare(url)} gives tokens that are no bearer tokens.`
    throw credentialError('unfit', problem, 'Set the client up for bearer tokens there.')
  }
  const seconds = Number(expires_in)
  return {
    accessToken: access_token,
    expiresAt: Date.now() + (seconds > 0 ? seconds : anHour) * 1000,
    ...(typeof refresh_token === 'string' && { refreshToken: refresh_token }),
  }
}

/** As a client that says who it is (RFC 6749 §2.3.1). */
export async function askForm(fetch: Fetch, url: string, client: OAuthClient, form: Form) {
  const { clientId, clientSecret, clientAuthentication = 'basic', parameters } = client
  const body = new URLSearchParams({ ...parameters, ...form })
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  }
  const secret = clientSecret === undefined ? undefined : await reveal(clientSecret)
  if (secret !== undefined && clientAuthentication === 'basic') {
    headers.authorization = `Basic ${base64(`${formEncoded(clientId)}:${formEncoded(secret)}`)}`
  } else {
    body.set('client_id', clientId)
    if (secret !== undefined) body.set('client_secret', secret)
  }
  return await askJson(fetch, requireSecure(url), { method: 'POST', headers, body: `${body}` })
}

/** Only the words of the standards are shown: anything else may be the secret again. */
export function refusal(url: string, error: unknown) {
  const word = typeof error === 'string' && known.test(error) ? error : 'a word of its own'
  const problem = `${bare(url)} gives no token: ${word}.`
  return credentialError('refused', problem, hints.get(word) ?? 'Check clientId, secret and scopes there.')
}

export interface JsonAnswer {
  readonly isOk: boolean
  readonly body: Readonly<Record<string, unknown>>
}

export function incomplete(where: string) {
  const problem = `There is no address for this flow of OAuth 2 at ${where}.`
  return credentialError('unfit', problem, 'Use credentials for another flow, or another scheme of the card.')
}

type Form = Readonly<Record<string, string>>

function formEncoded(text: string): string {
  return `${new URLSearchParams({ '': text })}`.slice(1)
}

/** Asks somebody who gives out tokens. No redirect is followed: what is sent has secrets in it. */
async function askJson(fetch: Fetch, url: string, init: RequestInit): Promise<JsonAnswer> {
  try {
    const response = await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(timeout) })
    const body: unknown = parse(await readLimited(response.body, maxBytes))
    if (typeof body === 'object' && body !== null) return { isOk: response.ok, body: { ...body } }
    const problem = `${bare(url)} answered with HTTP status ${response.status}, and not with JSON.`
    throw credentialError('garbage', problem, 'Check the addresses of the token and discovery endpoints.')
  } catch (error) {
    if (error instanceof A2AError) throw error
    // What the platform says may have the request in it.
    const why = error instanceof Error && error.name === 'TimeoutError' ? 'it takes too long' : networkFailureOf(error)
    const problem = `${bare(url)} gives no credentials: ${why}.`
    throw credentialError('unreachable', problem, 'See whether it runs and can be reached from here.')
  }
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

const hints: ReadonlyMap<string, string> = new Map([
  ['invalid_client', 'The clientId is not known there, or its secret is another one.'],
  ['invalid_scope', 'This client may not ask for the scopes that the card requires.'],
  ['unauthorized_client', 'This client may not use this flow.'],
  ['unsupported_grant_type', 'This flow is not offered there.'],
  ['access_denied', 'Somebody said no.'],
  ['expired_token', 'Nobody answered in time: start again.'],
])

/** OpenID Connect Discovery 1.0 §4. */
async function discover(url: string, fetch: Fetch): Promise<Endpoints> {
  const { body } = await askJson(fetch, requireSecure(url), { headers: { accept: 'application/json' } })
  const { issuer, token_endpoint, authorization_endpoint, device_authorization_endpoint } = body
  if (typeof issuer !== 'string' || typeof token_endpoint !== 'string') throw incomplete(bare(url))
  // Otherwise one issuer could speak for another (§4.3).
  if (discoveryUrl(issuer) !== url) {
    const problem = `${bare(url)} speaks for ${bare(issuer)}, which is not where it is.`
    throw credentialError('not-trusted', problem, 'The url of the scheme must be that of its issuer.')
  }
  return {
    issuer,
    tokenUrl: token_endpoint,
    refreshUrl: token_endpoint,
    ...(typeof authorization_endpoint === 'string' && { authorizationUrl: authorization_endpoint }),
    ...(typeof device_authorization_endpoint === 'string' && { deviceAuthorizationUrl: device_authorization_endpoint }),
  }
}

function ofFlow(scheme: SecurityScheme): Endpoints {
  const flow = scheme.type === 'oauth2' ? scheme.flow : undefined
  if (!flow || !('tokenUrl' in flow)) throw incomplete('the card')
  const { tokenUrl, refreshUrl = tokenUrl } = flow
  // A secret goes with it as well, but nobody has pinned it.
  const isSamePlace = URL.canParse(refreshUrl) && new URL(refreshUrl).origin === new URL(tokenUrl).origin
  return {
    tokenUrl,
    refreshUrl: isSamePlace ? refreshUrl : tokenUrl,
    ...('authorizationUrl' in flow && { authorizationUrl: flow.authorizationUrl }),
    ...('deviceAuthorizationUrl' in flow && { deviceAuthorizationUrl: flow.deviceAuthorizationUrl }),
  }
}
