import type { Fetch } from '../../http/outbound.ts'
import { askJson } from './ask-json.ts'
import { bare, type OAuthClient, requireSecure } from './oauth-client.ts'
import { reveal } from './provider.ts'
import { base64 } from './static-credentials.ts'
import type { Token } from './token-store.ts'
import { noCredentials } from './trouble.ts'

/** Asks a token endpoint (RFC 6749 §4). */
export function askToken(fetch: Fetch, url: string, client: OAuthClient, form: Form): Promise<Token> {
  return tryToken<never>(fetch, url, client, form, [])
}

type Form = Readonly<Record<string, string>>

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
    throw noCredentials('unfit', problem, 'Set the client up for bearer tokens there.')
  }
  const seconds = Number(expires_in)
  return {
    accessToken: access_token,
    expiresAt: Date.now() + (seconds > 0 ? seconds : anHour) * 1000,
    ...(typeof refresh_token === 'string' && { refreshToken: refresh_token }),
  }
}

/** Of a token that does not say how long it lives, in seconds. It is renewed as soon as it is refused. */
const anHour = 3600

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

function formEncoded(text: string): string {
  return `${new URLSearchParams({ '': text })}`.slice(1)
}

/** Only the words of the standards are shown: anything else may be the secret again. */
export function refusal(url: string, error: unknown) {
  const word = typeof error === 'string' && known.test(error) ? error : 'a word of its own'
  const problem = `${bare(url)} gives no token: ${word}.`
  return noCredentials('refused', problem, hints.get(word) ?? 'Check clientId, secret and scopes there.')
}

const known =
  /^(invalid_(request|client|grant|scope|target|token)|un(authorized_client|supported_grant_type|supported_response_type)|access_denied|expired_token|server_error|temporarily_unavailable|(login|consent|interaction)_required)$/

const hints: ReadonlyMap<string, string> = new Map([
  ['invalid_client', 'The clientId is not known there, or its secret is another one.'],
  ['invalid_scope', 'This client may not ask for the scopes that the card requires.'],
  ['unauthorized_client', 'This client may not use this flow.'],
  ['unsupported_grant_type', 'This flow is not offered there.'],
  ['access_denied', 'Somebody said no.'],
  ['expired_token', 'Nobody answered in time: start again.'],
])
