import type { OAuthFlow, SecurityScheme } from '../../protocol/security.ts'
import { authorityOf } from '../claims.ts'
import { type IntrospectionOptions, introspectedTokens } from '../introspection.ts'
import { jwtTokens } from '../jwt-tokens.ts'
import type { Scheme } from '../scheme.ts'
import { bearer } from './bearer.ts'
import type { JwtOptions } from './jwt.ts'

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
