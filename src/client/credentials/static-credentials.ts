import { toBase64 } from '../../base/base64.ts'
import type { SecurityScheme } from '../../protocol/card.ts'
import type { CredentialProvider, Credentials } from '../../protocol/principal.ts'
import { credentialError, reveal, type Secret } from './oauth-client.ts'

export interface ApiKeyOptions {
  /** Of the header, parameter or cookie, if several schemes of the card take keys. */
  readonly name?: string
  readonly in?: 'header' | 'query' | 'cookie'
}

/** A key, put where the card wants it. */
export function apiKey(key: Secret, { name, in: location }: ApiKeyOptions = {}): CredentialProvider {
  return {
    fits: (scheme) =>
      scheme.type === 'api-key' &&
      (name === undefined || name.toLowerCase() === scheme.name.toLowerCase()) &&
      (location === undefined || location === scheme.location),
    async credentialsFor({ scheme }) {
      return scheme.type === 'api-key' ? placed(scheme, checked(await reveal(key), 'API key')) : {}
    },
    ...(name !== undefined && { assumed: { type: 'api-key', name, location: location ?? 'header' } }),
  }
}

export interface BasicOptions {
  readonly username: string
  readonly password: Secret
}

/** A name and a password, as HTTP has them (RFC 7617). */
export function basic({ username, password }: BasicOptions): CredentialProvider {
  return {
    fits: (scheme) => isHttp(scheme, 'basic'),
    async credentialsFor() {
      return { headers: { authorization: `Basic ${base64(`${username}:${await reveal(password)}`)}` } }
    },
    assumed: { type: 'http', scheme: 'basic' },
  }
}

/** A token that somebody has got already: for bearer schemes, and for those that say how to get one. */
export function bearer(token: Secret): CredentialProvider {
  return {
    fits: (scheme) => isHttp(scheme, 'bearer') || scheme.type === 'oauth2' || scheme.type === 'openid',
    async credentialsFor() {
      return { headers: { authorization: `Bearer ${checked(await reveal(token), 'token')}` } }
    },
    assumed: { type: 'http', scheme: 'bearer' },
  }
}

/** Says that the `fetch` that is handed in shows a certificate, such as one by `createGuardedFetch({ tls })`. */
export function mutualTls(): CredentialProvider {
  return { fits: ({ type }) => type === 'mutual-tls', credentialsFor: () => ({}) }
}

export function base64(text: string): string {
  return toBase64(new TextEncoder().encode(text))
}

function placed({ name, location }: Extract<SecurityScheme, { type: 'api-key' }>, key: string): Credentials {
  switch (location) {
    case 'query':
      return { query: { [name]: key } }
    case 'cookie':
      return { headers: { cookie: `${name}=${key}` } }
    default:
      return { headers: { [name]: key } }
  }
}

/** What a platform says of a value that no header can have, has the value in it. */
function checked(secret: string, what: string): string {
  if (/^[\x21-\x3a\x3c-\x7e]+$/.test(secret)) return secret
  const problem = `The ${what} is empty, or has a character that no header can carry.`
  throw credentialError('malformed', problem, 'Look for a line break or a blank at its end.')
}

function isHttp(scheme: SecurityScheme, name: string): boolean {
  return scheme.type === 'http' && scheme.scheme.toLowerCase() === name
}
