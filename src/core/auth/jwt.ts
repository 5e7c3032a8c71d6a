import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { toBase64Url } from '../base/base64.ts'
import { fromHex } from '../base/hash.ts'
import { defined, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Principal } from '../protocol/model.ts'
import { type KeySource, KeysUnavailable, openKeySource, readAlgorithms } from './jwt-keys.ts'
import { type AuthRequest, type AuthResult, authFailure, withExpiry } from './scheme.ts'
import { createTokenCache, type Verification } from './token-cache.ts'

/** Seconds after which an unexpired token is verified again: its key may have been withdrawn. */
const cacheTokensFor = 600

/** How the claims of a token become a principal. */
export interface ClaimsOptions {
  /** The claim that holds the caller's tenant, such as `tid`. */
  readonly tenantClaim?: string
  /** Prefix of every id, to keep the ids of this issuer apart from those of another. */
  readonly idPrefix?: string
  /** Reads the claims in another way. Returning undefined rejects the token. */
  readonly principal?: (claims: JsonObject) => Principal | undefined
}

export interface JwtRules extends ClaimsOptions {
  /** The `iss` that tokens must have. */
  readonly issuer: string | readonly string[]
  /** The `aud` that tokens must have, one of them: this agent. */
  readonly audience: string | readonly string[]
  /** The `alg` that tokens may have. Defaults to every asymmetric algorithm or, with a secret, to HS256. */
  readonly algorithms?: readonly string[]
  /** Seconds by which clocks may differ. Defaults to 30. */
  readonly clockSkew?: number
  /** The `typ` that tokens must have, such as `at+jwt`. */
  readonly typ?: string
}

/** Checks a token and returns its principal. */
export type TokenCheck = (token: string) => AuthResult | Promise<AuthResult>

/** Checks signed tokens (RFC 7519). */
export function jwtTokens(rules: JwtRules, source: KeySource | JWTVerifyGetKey): TokenCheck {
  const { issuer, audience, clockSkew = 30, typ } = rules
  requireNames('issuer', issuer)
  requireNames('audience', audience)
  const keys = typeof source === 'function' ? source : openKeySource(source)
  const algorithms = [...readAlgorithms(rules.algorithms, source)]
  const cache = createTokenCache<AuthResult>()

  const expected: JWTVerifyOptions = {
    issuer: [issuer].flat(),
    audience: [audience].flat(),
    algorithms,
    clockTolerance: clockSkew,
    requiredClaims: ['exp'],
    ...defined({ typ }),
  }

  async function verify(token: string): Promise<Verification<AuthResult>> {
    const payload = await verifyJwt(token, keys, expected)
    const value = readClaims(payload as JWTPayload & JsonObject, rules)
    if (!value || 'reason' in value) return { value }
    const expires = ((payload.exp ?? 0) + clockSkew) * 1000
    const kept = { ...withExpiry(value, expires), isKept: true } as const
    return { value: kept, until: Math.min(expires, Date.now() + cacheTokensFor * 1000) }
  }

  return (token) =>
    cache.get(token, async () => {
      try {
        return await verify(token)
      } catch (error) {
        if (error instanceof KeysUnavailable) return { value: authFailure(error.message, error.cause ?? error) }
        return { value: authFailure(error instanceof Error ? error.message : 'the token cannot be read') }
      }
    })
}

/** Throws unless one of the keys has signed the token and its claims are as expected. */
export async function verifyJwt(token: string, keys: JWTVerifyGetKey, expected: JWTVerifyOptions): Promise<JWTPayload> {
  const { jwtVerify, errors } = await import('jose')
  try {
    return (await jwtVerify(token, keys, expected)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    // The token does not name its key, so it may be any of these.
    for await (const key of error) {
      const payload = await jwtVerify(token, key, expected).then(
        (result) => result.payload,
        (error) => {
          if (!(error instanceof errors.JWSSignatureVerificationFailed)) throw error
        },
      )
      if (payload) return payload
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** The principal of a token: `sub`, or the client itself if the token is for no user. */
export function readClaims(claims: JsonObject, options: ClaimsOptions): AuthResult {
  const { tenantClaim, idPrefix = '' } = options
  const confirmation = claims.cnf === undefined ? {} : { confirmation: claims.cnf }
  if (options.principal) {
    const principal = options.principal(claims)
    return principal ? { principal, ...confirmation } : authFailure('the `principal` option rejected the claims')
  }
  const id = textOf(claims.sub) ?? textOf(claims.client_id) ?? textOf(claims.azp)
  if (id === undefined) return authFailure('the token names no principal: it has no sub and no client_id')
  const tenant = tenantClaim === undefined ? undefined : textOf(claims[tenantClaim])
  if (tenantClaim !== undefined && tenant === undefined) return authFailure(`the token has no ${tenantClaim}`)
  const [scope, scp] = [scopesIn(claims.scope), scopesIn(claims.scp)]
  if (!scope || !scp) return authFailure('scope or scp is neither a text of scopes nor a list of them')
  const scopes = [...new Set([...scope, ...scp])]
  const principal = defined({ id: `${idPrefix}${id}`, scopes, claims, tenant })
  return { principal, ...confirmation }
}

/** The issuer that assigns the ids of principals, if they are used unchanged. */
export function authorityOf(
  { idPrefix, principal }: ClaimsOptions,
  issuer: string | readonly string[],
): string | undefined {
  return idPrefix !== undefined || principal ? undefined : [issuer].flat().join(', ')
}

/**
 * A token that is bound to a key is valid only for the holder of the key (RFC 7800). TLS proves the key of a certificate
 * (RFC 8705 §3). Other proofs are not supported, and their tokens are rejected: a thief must not be accepted for leaving
 * the proof out.
 */
export function checkConfirmation(result: AuthResult, request: AuthRequest): AuthResult {
  if (!result || !('principal' in result) || result.confirmation === undefined) return result
  const certificate = request.certificate()
  const digest = certificate && fromHex(certificate.fingerprint)
  const isProven = digest !== undefined && thumbprintIn(result.confirmation) === toBase64Url(digest)
  return isProven ? result : authFailure('the token is bound to a key that was not proven')
}

function requireNames(what: string, names: string | readonly string[]): void {
  const all = [names].flat()
  if (all.length > 0 && all.every((name) => typeof name === 'string' && name !== '')) return
  throw new TypeError(`${what}: expected the one that tokens must name, got ${JSON.stringify(names)}`)
}

function textOf(claim: Json | undefined): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

/** RFC 6749 §3.3: printable ASCII without spaces, quotes and backslashes. */
const scopeToken = /^[!#-[\]-~]+$/

/**
 * The scopes of a claim. RFC 8693 §4.2 has a text, with spaces between the scopes. Some issuers send a list, each of whose
 * items must be one scope. Undefined for anything else: a misread claim must not grant anything.
 */
function scopesIn(claim: Json | undefined): readonly string[] | undefined {
  if (claim === undefined || claim === null) return []
  const scopes: unknown = typeof claim === 'string' ? claim.split(' ').filter((scope) => scope !== '') : claim
  return Array.isArray(scopes) && scopes.every(isScope) ? scopes : undefined
}

function isScope(value: unknown): value is string {
  return typeof value === 'string' && scopeToken.test(value)
}

/** The thumbprint of a certificate, if the confirmation has no other member. */
function thumbprintIn(confirmation: Json): Json | undefined {
  if (!isObject(confirmation)) return undefined
  const { 'x5t#S256': thumbprint, ...others } = confirmation
  return Object.keys(others).length === 0 ? thumbprint : undefined
}
