import { toBase64 } from '../../base/base64.ts'
import { checkOptions, oneOf, text } from '../../base/options.ts'
import type { SecurityScheme } from '../../protocol/card.ts'
import type { CredentialProvider, Credentials } from '../../protocol/credentials.ts'
import { credentialError } from './authorize.ts'
import { reveal, type Secret, secretCheck } from './oauth-client.ts'

/** Options of `apiKeyCredentials`. */
export interface ApiKeyCredentialsOptions {
  /** The name of the header, parameter or cookie, if several schemes of the card take keys. */
  readonly name?: string
  readonly in?: 'header' | 'query' | 'cookie'
}

/** An API key, sent where the card requires it. */
export function apiKeyCredentials(key: Secret, options: ApiKeyCredentialsOptions = {}): CredentialProvider {
  secretCheck(key, 'apiKeyCredentials: key')
  checkOptions('apiKeyCredentials', options, { name: text, in: oneOf('header', 'query', 'cookie') })
  const { name, in: location } = options
  return {
    fits: (scheme) =>
      scheme.type === 'api-key' &&
      (name === undefined || name.toLowerCase() === scheme.name.toLowerCase()) &&
      (location === undefined || location === scheme.location),
    async credentialsFor({ scheme }) {
      return scheme.type === 'api-key' ? keyCredentials(scheme, requireSendable(await reveal(key), 'API key')) : {}
    },
    ...(name !== undefined && { assumed: { type: 'api-key', name, location: location ?? 'header' } }),
  }
}

/** Options of `basicCredentials`. */
export interface BasicCredentialsOptions {
  readonly username: string
  readonly password: Secret
}

/** A user name and a password for HTTP Basic authentication (RFC 7617). */
export function basicCredentials(options: BasicCredentialsOptions): CredentialProvider {
  checkOptions('basicCredentials', options, { username: text, password: secretCheck }, ['username', 'password'])
  const { username, password } = options
  return {
    fits: (scheme) => isHttpScheme(scheme, 'basic'),
    async credentialsFor() {
      const pair = new TextEncoder().encode(`${username}:${await reveal(password)}`)
      return { headers: { authorization: `Basic ${toBase64(pair)}` } }
    },
    assumed: { type: 'http', scheme: 'basic' },
  }
}

/**
 * Sends a token that the caller already has: for bearer schemes, and for OAuth 2 and OpenID Connect.
 *
 * @example
 * const client = await connect('https://agent.example.com', { auth: [bearer(token)] })
 */
export function bearer(token: Secret): CredentialProvider {
  secretCheck(token, 'bearer: token')
  return {
    fits: (scheme) => isHttpScheme(scheme, 'bearer') || scheme.type === 'oauth2' || scheme.type === 'openid',
    async credentialsFor() {
      return { headers: { authorization: `Bearer ${requireSendable(await reveal(token), 'token')}` } }
    },
    assumed: { type: 'http', scheme: 'bearer' },
  }
}

/** Declares that the `fetch` option presents a client certificate, such as one by `createGuardedFetch({ tls })`. */
export function certificateCredentials(): CredentialProvider {
  return { fits: ({ type }) => type === 'mutual-tls', credentialsFor: () => ({}) }
}

function keyCredentials({ name, location }: Extract<SecurityScheme, { type: 'api-key' }>, key: string): Credentials {
  switch (location) {
    case 'query':
      return { query: { [name]: key } }
    case 'cookie':
      return { headers: { cookie: `${name}=${key}` } }
    default:
      return { headers: { [name]: key } }
  }
}

/** Checked here, because the error of a platform for an invalid header value contains the value. */
function requireSendable(secret: string, what: string): string {
  if (/^[\x21-\x3a\x3c-\x7e]+$/.test(secret)) return secret
  const problem = `The ${what} is empty, or has a character that no header can carry.`
  throw credentialError('malformed', problem, 'Look for a line break or a blank at its end.')
}

function isHttpScheme(scheme: SecurityScheme, name: string): boolean {
  return scheme.type === 'http' && scheme.scheme.toLowerCase() === name
}
