import { BoundedMap } from '../../base/bounded-map.ts'
import {
  checkOptions,
  flag,
  having,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  recordOf,
  text,
} from '../../base/options.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import { credentialError } from './authorize.ts'

/** Milliseconds before its expiry from which a token is no longer used; a fifth of the lifetime of short tokens. */
const expiryMargin = 30_000

/** A secret, or a function that returns the current one. */
export type Secret = string | (() => string | Promise<string>)

/** Describes no wrong value: it may contain the secret. */
export const secretCheck: OptionCheck = (value, name) => {
  if (typeof value === 'string' || typeof value === 'function') return
  throw new TypeError(`${name}: expected a string, or a function that returns one.`)
}

export async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}

/** The client's registration with an authorization server, and which servers it trusts. */
export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret?: Secret
  /** How the secret is sent: in the header (`basic`) or in the form (`post`). Defaults to `basic`. */
  readonly clientAuthentication?: 'basic' | 'post'
  /** The trusted token endpoint. The card must name the same. */
  readonly tokenUrl?: string
  /** The trusted OpenID Connect issuer. The card must name the same. */
  readonly issuer?: string
  /** Whether the secret may be sent to any server that a card names. Defaults to false, because anyone can write a card. */
  readonly trustCard?: boolean
  /** Scopes to request besides those that the card requires. */
  readonly scopes?: readonly string[]
  /** Further parameters of token requests, such as `audience` or `resource`. */
  readonly parameters?: Readonly<Record<string, string>>
  /** Keeps tokens beyond the process. Defaults to memory only. */
  readonly tokens?: TokenStorage
}

/** `checks` are those of the members that the flow adds, all of which are required. */
export function checkClient<T extends OAuthClient>(
  name: string,
  client: T,
  checks: OptionChecks<Omit<T, keyof OAuthClient>>,
): void {
  const required = ['clientId', ...Object.keys(checks)] as (keyof OAuthClient)[]
  checkOptions<OAuthClient>(name, client, { ...clientChecks, ...checks }, required)
  const { clientSecret, tokenUrl, issuer, trustCard } = client
  if (clientSecret === undefined || tokenUrl !== undefined || issuer !== undefined || trustCard) return
  const problem = 'say by tokenUrl or issuer who may get the secret, or trust every card with it by trustCard: true'
  throw new TypeError(`${name}: ${problem}`)
}

const clientChecks: OptionChecks<OAuthClient> = {
  clientId: text,
  clientSecret: secretCheck,
  clientAuthentication: oneOf('basic', 'post'),
  tokenUrl: text,
  issuer: text,
  trustCard: flag,
  scopes: listOf(text),
  parameters: recordOf(text),
  tokens: having('a storage with load and save', 'load', 'save'),
}

/** Whether a scheme has this flow, and a server that the client trusts. */
export function fitsClient(scheme: SecurityScheme, flow: OAuthFlow['type'], client: OAuthClient): boolean {
  if (scheme.type === 'openid') return client.issuer === undefined || scheme.url === discoveryUrl(client.issuer)
  if (scheme.type !== 'oauth2' || scheme.flow.type !== flow || !('tokenUrl' in scheme.flow)) return false
  const { tokenUrl } = scheme.flow
  if (client.tokenUrl !== undefined) return client.tokenUrl === tokenUrl
  return client.issuer === undefined || originOf(client.issuer) === originOf(tokenUrl)
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}

export const discoverySuffix = '/.well-known/openid-configuration'

export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}${discoverySuffix}`
}

/** Tokens and secrets travel over TLS only, except to this machine. */
export function requireSecure(url: string): string {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' }
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || (protocol === 'http:' && isLocal)) return url
  const problem = `Tokens are not requested from ${withoutQuery(url)}, which is not https.`
  throw credentialError('not-secure', problem, 'Correct the address in the card, or in the options of the credentials.')
}

/** A URL for messages, without the parts that may contain a secret. */
export function withoutQuery(url: string): string {
  if (!URL.canParse(url)) return 'an invalid URL'
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** An access token, as it is kept by a `TokenStorage`. */
export interface Token {
  readonly accessToken: string
  readonly refreshToken?: string
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

/** A place for tokens, such as a file or the keychain of the system. `name` stands for the server and the scopes. */
export interface TokenStorage {
  load(name: string): Token | undefined | Promise<Token | undefined>
  save(name: string, token: Token): void | Promise<void>
}

export interface TokenStore {
  /** Returns the token of that name while it is valid and not `rejected`; otherwise a new one that all callers share. */
  get(name: string, rejected: string | undefined, obtain: (last: Token | undefined) => Promise<Token>): Promise<Token>
}

export function createTokenStore(storage?: TokenStorage, limit = 32): TokenStore {
  const tokens = new BoundedMap<string, Token & { readonly staleAt: number }>(limit)
  const pending = new Map<string, Promise<Token>>()

  function remember(name: string, token: Token): void {
    const lifetime = Math.max(0, token.expiresAt - Date.now())
    tokens.set(name, { ...token, staleAt: token.expiresAt - Math.min(expiryMargin, lifetime / 5) })
  }

  async function renew(name: string, obtain: (last: Token | undefined) => Promise<Token>): Promise<Token> {
    try {
      const token = await obtain(tokens.get(name))
      remember(name, token)
      await storage?.save(name, token)
      return token
    } finally {
      pending.delete(name)
    }
  }

  return {
    async get(name, rejected, obtain) {
      const stored = storage && !tokens.get(name) ? await storage.load(name) : undefined
      if (stored && !tokens.get(name)) remember(name, stored)
      const token = tokens.get(name)
      // If another call has already renewed the rejected token, the new one is used.
      if (token && token.staleAt > Date.now() && token.accessToken !== rejected) return token
      const renewal = pending.get(name) ?? renew(name, obtain)
      pending.set(name, renewal)
      return await renewal
    },
  }
}
