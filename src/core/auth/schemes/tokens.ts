import { defined } from '../../base/json.ts'
import {
  aFunction,
  anything,
  checkOptions,
  group,
  having,
  isAbove,
  listOf,
  type OptionChecks,
  text,
} from '../../base/options.ts'
import type { OAuthFlow, SecurityScheme } from '../../protocol/card.ts'
import { fetchJson, requireSecureUrl } from '../fetch-json.ts'
import { type IntrospectionOptions, introspectedTokens } from '../introspection.ts'
import {
  authorityOf,
  type ClaimsOptions,
  checkConfirmation,
  type JwtRules,
  jwtTokens,
  type TokenCheck,
} from '../jwt.ts'
import { type KeySource, type RemoteKeySetOptions, remoteKeys } from '../jwt-keys.ts'
import { authorizationOf, bearerChallenge, type Scheme } from '../scheme.ts'

/** Options of `jwt`. */
export interface JwtOptions extends JwtRules {
  readonly keys: KeySource
  readonly description?: string
}

/**
 * Accepts callers with a signed token of an issuer (RFC 7519, RFC 9068).
 *
 * @example
 * const token = jwt({
 *   issuer: 'https://login.example.com',
 *   audience: 'https://agent.example.com',
 *   keys: { url: 'https://login.example.com/jwks.json' },
 * })
 * await serve(echo, { auth: { schemes: { token } } })
 */
export function jwt(options: JwtOptions): Scheme {
  checkOptions('jwt', options, { ...jwtChecks, description: text })
  const { keys, description, ...rules } = options
  const card = { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } as const
  return bearer({ ...card, ...defined({ description }) }, jwtTokens(rules, keys), authorityOf(rules, rules.issuer))
}

const claimsChecks: OptionChecks<ClaimsOptions> = { tenantClaim: text, idPrefix: text, principal: aFunction }

/** Issuer, audience and keys are checked where they are read. */
const jwtChecks: OptionChecks<Omit<JwtOptions, 'description'>> = {
  ...claimsChecks,
  issuer: anything,
  audience: anything,
  algorithms: listOf(text),
  clockSkew: isAbove(-1),
  typ: text,
  keys: anything,
}

/** Options of `oauth2`. */
export type OAuth2Options = {
  /** How callers obtain a token. Declare several flows as several schemes. */
  readonly flow: OAuthFlow
  /** URL of the authorization server's metadata (RFC 8414). */
  readonly metadataUrl?: string
  readonly description?: string
} & (
  | { readonly jwt: Omit<JwtOptions, 'description'> }
  /** For tokens that only their issuer can read. */
  | { readonly introspection: IntrospectionOptions }
)

/** Accepts callers with a token of an authorization server, with scopes (RFC 6749). */
export function oauth2(options: OAuth2Options): Scheme {
  checkOptions<OAuth2Members>('oauth2', options, oauth2Checks, ['flow'])
  if ('jwt' in options === 'introspection' in options) {
    throw new TypeError('oauth2: expected jwt or introspection, which say how tokens are checked, and not both.')
  }
  const { flow, metadataUrl, description } = options
  const card: SecurityScheme = defined({ type: 'oauth2', flow, metadataUrl, description })
  if ('jwt' in options) {
    const { keys, ...rules } = options.jwt
    return bearer(card, jwtTokens(rules, keys), authorityOf(rules, rules.issuer))
  }
  const { introspection } = options
  const { issuer = new URL(introspection.url).origin } = introspection
  return bearer(card, introspectedTokens(introspection), authorityOf(introspection, issuer))
}

type OAuth2Members = Pick<OAuth2Options, 'flow' | 'metadataUrl' | 'description'> & {
  readonly jwt?: Omit<JwtOptions, 'description'>
  readonly introspection?: IntrospectionOptions
}

const oauth2Checks: OptionChecks<OAuth2Members> = {
  flow: having("a flow such as { type: 'client-credentials', tokenUrl, scopes }", 'type'),
  metadataUrl: text,
  description: text,
  jwt: group(jwtChecks),
  introspection: group<IntrospectionOptions>({
    ...claimsChecks,
    url: anything,
    clientId: text,
    clientSecret: text,
    issuer: text,
    audience: anything,
    cacheFor: isAbove(-1),
  }),
}

/** Options of `openId`. */
export interface OpenIdOptions extends Omit<JwtRules, 'issuer'>, Omit<RemoteKeySetOptions, 'url'> {
  /** The issuer. Its configuration is below its URL (OpenID Connect Discovery §4). */
  readonly issuer: string
  readonly description?: string
}

/**
 * Accepts callers with a signed token of an issuer that publishes where its keys are.
 *
 * @example
 * const login = openId({ issuer: 'https://login.example.com', audience: 'https://agent.example.com' })
 * await serve(echo, { auth: { schemes: { login } } })
 */
export function openId(options: OpenIdOptions): Scheme {
  const { keys: _keys, ...ruleChecks } = jwtChecks
  checkOptions('openId', options, { ...ruleChecks, ...remoteKeyChecks, issuer: text, description: text }, ['issuer'])
  const { description, ...rules } = options
  const { issuer } = rules
  requireSecureUrl('issuer', issuer)
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`

  /** The configuration must name the issuer itself (§4.3): otherwise any server at this URL could choose the keys. */
  async function keysUrl(): Promise<string> {
    const { issuer: configuredIssuer, jwks_uri: keys } = await fetchJson(url)
    if (configuredIssuer !== issuer) {
      throw new Error(`${url} is the configuration of ${JSON.stringify(configuredIssuer)}, not of ${issuer}`)
    }
    if (typeof keys !== 'string') throw new Error(`${url} has no jwks_uri`)
    return requireSecureUrl('jwks_uri', keys)
  }

  return bearer(
    defined({ type: 'openid', url, description }),
    jwtTokens(rules, remoteKeys({ ...rules, url: keysUrl })),
    authorityOf(rules, issuer),
  )
}

const remoteKeyChecks: OptionChecks<Omit<RemoteKeySetOptions, 'url'>> = {
  cacheFor: isAbove(-1),
  staleFor: isAbove(-1),
  cooldown: isAbove(-1),
  fetch: aFunction,
}

/** All schemes that take a bearer token (RFC 6750). They differ in how it is checked. */
function bearer(card: SecurityScheme, check: TokenCheck, authority: string | undefined): Scheme {
  return {
    card,
    challenge: bearerChallenge,
    ...defined({ authority }),
    authenticate(request) {
      const token = authorizationOf(request, 'bearer')
      if (typeof token !== 'string') return token
      const result = check(token)
      return result instanceof Promise
        ? result.then((late) => checkConfirmation(late, request))
        : checkConfirmation(result, request)
    },
  }
}
