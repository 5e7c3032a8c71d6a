import type { OAuthFlow, SecurityScheme } from '../../protocol/security.ts'
import type { Secret } from './provider.ts'
import { noCredentials } from './trouble.ts'

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

export function discoveryUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Tokens and secrets are not sent in the open, but to this machine. */
export function requireSecure(url: string): string {
  const { protocol, hostname } = URL.canParse(url) ? new URL(url) : { protocol: '', hostname: '' }
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol === 'https:' || (protocol === 'http:' && isLocal)) return url
  const problem = `Tokens are not asked for at ${bare(url)}, which is not https.`
  throw noCredentials('not-secure', problem, 'Correct the address in the card, or in the options of the credentials.')
}

/** Without what may be a secret. */
export function bare(url: string): string {
  if (!URL.canParse(url)) return 'what is no address'
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

function originOf(url: string): string | undefined {
  return URL.canParse(url) ? new URL(url).origin : undefined
}
