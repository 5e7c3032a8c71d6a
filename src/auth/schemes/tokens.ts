import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import { fetchJson, requireSecureUrl } from '../fetch-json.ts'
import { type IntrospectionOptions, introspectedTokens } from '../introspection.ts'
import {
  authorityOf,
  checkConfirmation,
  type JwtRules,
  jwtTokens,
  type KeySource,
  type RemoteKeysOptions,
  remoteKeys,
  type TokenCheck,
} from '../jwt.ts'
import { authorizationOf, bearerChallenge, type Scheme } from '../scheme.ts'

export interface JwtOptions extends JwtRules {
  readonly keys: KeySource
  readonly description?: string
}

export type OAuth2Options = {
  /** How callers get a token. Several flows are several schemes. */
  readonly flow: OAuthFlow
  /** Where the authorization server describes itself (RFC 8414). */
  readonly metadataUrl?: string
  readonly description?: string
} & (
  | { readonly jwt: Omit<JwtOptions, 'description'> }
  /** For tokens that only their issuer can read. */
  | { readonly introspection: IntrospectionOptions }
)

/** A token of an authorization server, with scopes (RFC 6749). */
export function oauth2(options: OAuth2Options): Scheme {
  const { flow, metadataUrl, description } = options
  const card: SecurityScheme = {
    type: 'oauth2',
    flow,
    ...(metadataUrl !== undefined && { metadataUrl }),
    ...(description !== undefined && { description }),
  }
  if ('jwt' in options) {
    const { keys, ...rules } = options.jwt
    return bearer(card, jwtTokens(rules, keys), authorityOf(rules, rules.issuer))
  }
  const { introspection } = options
  const { issuer = new URL(introspection.url).origin } = introspection
  return bearer(card, introspectedTokens(introspection), authorityOf(introspection, issuer))
}

export interface OpenIdOptions extends Omit<JwtRules, 'issuer'>, Omit<RemoteKeysOptions, 'url'> {
  /** The issuer, below which its configuration is found (OpenID Connect Discovery §4). */
  readonly issuer: string
  readonly description?: string
}

/** A signed token of an issuer that says itself where its keys are. */
export function openId({ description, ...rules }: OpenIdOptions): Scheme {
  const { issuer } = rules
  requireSecureUrl('issuer', issuer)
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`

  /** What it says of itself must be of itself (§4.3): otherwise anybody who answers there could name the keys. */
  async function keysUrl(): Promise<string> {
    const { issuer: named, jwks_uri: keys } = await fetchJson(url)
    if (named !== issuer) throw new Error(`${url} is the configuration of ${JSON.stringify(named)}, not of ${issuer}`)
    if (typeof keys !== 'string') throw new Error(`${url} has no jwks_uri`)
    return requireSecureUrl('jwks_uri', keys)
  }

  return bearer(
    { type: 'openid', url, ...(description !== undefined && { description }) },
    jwtTokens(rules, remoteKeys({ ...rules, url: keysUrl })),
    authorityOf(rules, issuer),
  )
}

/** A signed token of an issuer (RFC 7519, RFC 9068). */
export function jwt({ keys, description, ...rules }: JwtOptions): Scheme {
  const card = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const
  return bearer(
    { ...card, ...(description !== undefined && { description }) },
    jwtTokens(rules, keys),
    authorityOf(rules, rules.issuer),
  )
}

/** Every scheme whose callers bring a token (RFC 6750), however it is checked. */
function bearer(card: SecurityScheme, check: TokenCheck, authority: string | undefined): Scheme {
  return {
    card,
    challenge: bearerChallenge,
    ...(authority !== undefined && { authority }),
    authenticate(presented) {
      const token = authorizationOf(presented, 'bearer')
      if (typeof token !== 'string') return token
      const verdict = check(token)
      return verdict instanceof Promise
        ? verdict.then((late) => checkConfirmation(late, presented))
        : checkConfirmation(verdict, presented)
    },
  }
}
