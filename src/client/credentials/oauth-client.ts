import { BoundedMap } from '../../base/bounded-map.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import { A2AError } from '../../protocol/errors.ts'

/** So long before its end a token is not used any more, in milliseconds; of short ones, a fifth of their life. */
const margin = 30_000

/** A secret, or what gives the one that is valid now. */
export type Secret = string | (() => string | Promise<string>)

export async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}

/** Who we are to those who give out tokens, and whom of them we trust. */
export interface OAuthClient {
  readonly clientId: string
  readonly clientSecret?: Secret
  /** How the secret is shown: in the header by default (`basic`), or in the form (`post`). */
  readonly clientAuthentication?: 'basic' | 'post'
  /** Where tokens are asked for. The card must name the same. */
  readonly tokenUrl?: string
  /** Who gives out tokens, by OpenID Connect. The card must name the same. */
  readonly issuer?: string
  /** Whether the secret may be sent to whomever the card names. Not by default: anybody may write a card. */
  readonly trustCard?: boolean
  /** Asked for besides those that the card requires. */
  readonly scopes?: readonly string[]
  /** More that is said when a token is asked for, such as `audience` or `resource`. */
  readonly parameters?: Readonly<Record<string, string>>
}

export function checkClient(name: string, { clientSecret, tokenUrl, issuer, trustCard }: OAuthClient): void {
  if (clientSecret === undefined || tokenUrl !== undefined || issuer !== undefined || trustCard) return
  const problem = 'say by tokenUrl or issuer who may get the secret, or trust every card with it by trustCard: true'
  throw new TypeError(`${name}: ${problem}`)
}

/** Whether a scheme is of this flow, and of somebody whom the client trusts. */
export function fitsClient(scheme: SecurityScheme, flow: OAuthFlow['type'], client: OAuthClient): boolean {
  if (scheme.type === 'openid') return client.issuer === undefined || scheme.url === discoveryUrl(client.issuer)
  if (scheme.type !== 'oauth2' || scheme.flow.type !== flow || !('tokenUrl' in scheme.flow)) return false
  const { tokenUrl } = scheme.flow
  if (client.tokenUrl !== undefined) return client.tokenUrl === tokenUrl
  return client.issuer === undefined || originOf(client.issuer) === originOf(tokenUrl)
}

/** Tokens and secrets are not sent in the open, but to this machine. */
export function requireSecure(url: string): string {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' }
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || (protocol === 'http:' && isLocal)) return url
  const problem = `Tokens are not asked for at ${bare(url)}, which is not https.`
  throw credentialError('not-secure', problem, 'Correct the address in the card, or in the options of the credentials.')
}

export interface Token {
  readonly accessToken: string
  readonly refreshToken?: string
  /** In milliseconds since 1970. */
  readonly expiresAt: number
}

export interface TokenStore {
  /** The token of that name if it still does; otherwise a new one, which all who wait for it share. */
  get(name: string, refused: string | undefined, obtain: (last: Token | undefined) => Promise<Token>): Promise<Token>
}

export function createTokenStore(limit = 32): TokenStore {
  const tokens = new BoundedMap<string, Token & { readonly staleAt: number }>(limit)
  const flights = new Map<string, Promise<Token>>()

  async function renew(name: string, obtain: (last: Token | undefined) => Promise<Token>): Promise<Token> {
    try {
      const token = await obtain(tokens.get(name))
      const life = Math.max(0, token.expiresAt - Date.now())
      tokens.set(name, { ...token, staleAt: token.expiresAt - Math.min(margin, life / 5) })
      return token
    } finally {
      flights.delete(name)
    }
  }

  return {
    async get(name, refused, obtain) {
      const known = tokens.get(name)
      // One that was refused while somebody else has got a new one is not renewed twice.
      if (known && known.staleAt > Date.now() && known.accessToken !== refused) return known
      const flight = flights.get(name) ?? renew(name, obtain)
      flights.set(name, flight)
      return await flight
    },
  }
}

export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Without what may be a secret. */
export function bare(url: string): string {
  if (!URL.canParse(url)) return 'what is no address'
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** Why there are no credentials. None of these texts may have a secret, nor what somebody answered to one. */
export type CredentialFailure =
  | 'unfit'
  | 'malformed'
  | 'not-secure'
  | 'not-trusted'
  | 'refused'
  | 'unreachable'
  | 'garbage'

/** Not transient: nothing was sent to the agent, or it was turned away. */
export function credentialError(trouble: CredentialFailure, problem: string, hint: string, cause?: unknown): A2AError {
  const reason = `credentials-${trouble}`
  return new A2AError('unauthenticated', problem, { reason, hint, ...(cause !== undefined && { cause }) })
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}
