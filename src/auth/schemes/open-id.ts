import { authorityOf } from '../claims.ts'
import { fetchJson, requireSafe } from '../fetch-json.ts'
import { type RemoteKeysOptions, remoteKeys } from '../jwks.ts'
import { type JwtRules, jwtTokens } from '../jwt-tokens.ts'
import type { Scheme } from '../scheme.ts'
import { bearer } from './bearer.ts'

export interface OpenIdOptions extends Omit<JwtRules, 'issuer'>, Omit<RemoteKeysOptions, 'url'> {
  /** The issuer, below which its configuration is found (OpenID Connect Discovery §4). */
  readonly issuer: string
  readonly description?: string
}

/** A signed token of an issuer that says itself where its keys are. */
export function openId({ description, ...rules }: OpenIdOptions): Scheme {
  const { issuer } = rules
  requireSafe('issuer', issuer)
  const url = `${issuer.replace(/\/+$/, '')}/.well-known/openid-configuration`

  /** What it says of itself must be of itself (§4.3): otherwise anybody who answers there could name the keys. */
  async function keysUrl(): Promise<string> {
    const { issuer: named, jwks_uri: keys } = await fetchJson(url)
    if (named !== issuer) throw new Error(`${url} is the configuration of ${JSON.stringify(named)}, not of ${issuer}`)
    if (typeof keys !== 'string') throw new Error(`${url} has no jwks_uri`)
    return requireSafe('jwks_uri', keys)
  }

  return bearer(
    { type: 'openid', url, ...(description !== undefined && { description }) },
    jwtTokens(rules, remoteKeys({ ...rules, url: keysUrl })),
    authorityOf(rules, issuer),
  )
}
