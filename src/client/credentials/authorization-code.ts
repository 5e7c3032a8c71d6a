import type { CredentialProvider } from '../../protocol/credentials.ts'
import { askToken, refusal } from './ask-token.ts'
import { incomplete } from './endpoints.ts'
import { bare, type OAuthClient, requireSecure } from './oauth-client.ts'
import { type FlowStart, oauthProvider } from './oauth-provider.ts'
import type { Token } from './token-store.ts'
import { noCredentials } from './trouble.ts'

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
    throw noCredentials('not-trusted', 'The user came back from somewhere else.', 'Start again.')
  }
  const code = back.get('code')
  if (code === null) throw refusal(authorizationUrl, back.get('error'))
  const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
  return await askToken(fetch, tokenUrl, client, form)
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)))
}

async function challengeOf(verifier: string): Promise<string> {
  return base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (each) => ({ '+': '-', '/': '_' })[each] ?? '')
}
