import type { JSONWebKeySet, JWK, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { toBase64Url } from '../base/base64.ts'
import { fromHex } from '../base/hash.ts'
import type { Json, JsonObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import type { Principal } from '../protocol/model.ts'
import { fetchJson, requireSecureUrl } from './fetch-json.ts'
import { type AuthRequest, type AuthResult, authFailure, withExpiry } from './scheme.ts'
import { createTokenCache } from './token-cache.ts'

/** Seconds after which a token is verified again, although it has not expired: its key may have been withdrawn. */
const rememberFor = 600

/** How what a token says becomes a principal. */
export interface ClaimsOptions {
  /** The claim with the caller's tenant, such as `tid`. */
  readonly tenantClaim?: string
  /** Put before every id, to keep the ids of this issuer apart from those of another. */
  readonly idPrefix?: string
  /** Reads the claims in another way; undefined refuses the token. */
  readonly principal?: (claims: JsonObject) => Principal | undefined
}

/** Who chooses the ids, if they are taken as they come. */
export function authorityOf(
  { idPrefix, principal }: ClaimsOptions,
  issuer: string | readonly string[],
): string | undefined {
  return idPrefix !== undefined || principal ? undefined : [issuer].flat().join(', ')
}

export interface JwtRules extends ClaimsOptions {
  /** The `iss` that tokens must have. */
  readonly issuer: string | readonly string[]
  /** The `aud` that tokens must have, one of them: this agent. */
  readonly audience: string | readonly string[]
  /** The `alg` that tokens may have. Every asymmetric one by default; with a secret, HS256. */
  readonly algorithms?: readonly string[]
  /** Seconds by which clocks may differ. 30 by default. */
  readonly clockSkew?: number
  /** The `typ` that tokens must have, such as `at+jwt`. */
  readonly typ?: string
}

export interface RemoteKeysOptions {
  /** Where they are published; asked again whenever they are. */
  readonly url: () => string | Promise<string>
  /** Seconds after which they are fetched again. 10 minutes by default. */
  readonly cacheFor?: number
  /** Seconds for which the last ones are good while they cannot be fetched. An hour by default. */
  readonly staleFor?: number
  /** Seconds between two attempts, so that callers who name keys that do not exist do not make us ask without end. */
  readonly cooldown?: number
  /** The global one by default. */
  readonly fetch?: Fetch
}

/** The keys by which tokens are signed: where they are published, themselves, or a secret that is shared. */
export type KeySource =
  | ({ readonly url: string | URL } & Omit<RemoteKeysOptions, 'url'>)
  | { readonly jwks: readonly JWK[] }
  | { readonly secret: Uint8Array }

/** Checks a token and says whom it stands for. */
export type TokenCheck = (token: string) => AuthResult | Promise<AuthResult>

export function jwtTokens(rules: JwtRules, source: KeySource | JWTVerifyGetKey): TokenCheck {
  const { issuer, audience, clockSkew = 30, typ } = rules
  requireNames('issuer', issuer)
  requireNames('audience', audience)
  const algorithms = [...(rules.algorithms ?? defaultAlgorithms(source))]
  if (algorithms.some((name) => name.toLowerCase() === 'none')) throw new TypeError('algorithms: none proves nothing')
  const keys = typeof source === 'function' ? source : keysOf(source)
  const verified = createTokenCache<AuthResult>()

  const expected: JWTVerifyOptions = {
    issuer: [issuer].flat(),
    audience: [audience].flat(),
    algorithms,
    clockTolerance: clockSkew,
    requiredClaims: ['exp'],
    ...(typ !== undefined && { typ }),
  }

  async function check(token: string) {
    const payload = await verifyJwt(token, keys, expected)
    const value = readClaims(payload as JWTPayload & JsonObject, rules)
    if (!value || 'reason' in value) return { value }
    const expires = ((payload.exp ?? 0) + clockSkew) * 1000
    return { value: withExpiry(value, expires), until: Math.min(expires, Date.now() + rememberFor * 1000) }
  }

  return (token) =>
    verified.of(token, async () => {
      try {
        return await check(token)
      } catch (error) {
        if (error instanceof KeysUnavailable) return { value: authFailure(error.message, error.cause ?? error) }
        return { value: authFailure(error instanceof Error ? error.message : 'the token cannot be read') }
      }
    })
}

/**
 * A token that is bound to a key is good only for who has the key (RFC 7800). The key of a certificate is proven on the
 * connection (RFC 8705 §3); other proofs are not read here, and who stole such a token must not get in by leaving them
 * out.
 */
export function checkConfirmation(verdict: AuthResult, presented: AuthRequest): AuthResult {
  if (!verdict || !('principal' in verdict) || verdict.confirmation === undefined) return verdict
  const shown = presented.certificate()
  const isShown =
    shown !== undefined &&
    thumbprintIn(verdict.confirmation) === toBase64Url(fromHex(shown.fingerprint) ?? new Uint8Array())
  return isShown ? verdict : authFailure('the token is bound to a key that was not proven')
}

export function keysOf(source: KeySource): JWTVerifyGetKey {
  if ('url' in source) {
    const url = requireSecureUrl('keys.url', source.url)
    return remoteKeys({ ...source, url: () => url })
  }
  if ('secret' in source) {
    const { secret } = source
    if (secret.length < 32) throw new TypeError('keys.secret: expected at least 32 bytes')
    return () => secret
  }
  if (source.jwks.length === 0) throw new TypeError('keys.jwks: expected at least one key')
  let find: JWTVerifyGetKey | undefined
  return async (header, token) => {
    find ??= (await import('jose')).createLocalJWKSet({ keys: [...source.jwks] })
    return await find(header, token)
  }
}

/** Throws unless one of the keys has signed it, and it says what is expected. */
export async function verifyJwt(token: string, keys: JWTVerifyGetKey, expected: JWTVerifyOptions): Promise<JWTPayload> {
  const { jwtVerify, errors } = await import('jose')
  try {
    return (await jwtVerify(token, keys, expected)).payload
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
    // The token does not name its key: it may be any of these.
    for await (const key of error) {
      const payload = await jwtVerify(token, key, expected).then(
        (result) => result.payload,
        (failure) => {
          if (!(failure instanceof errors.JWSSignatureVerificationFailed)) throw failure
        },
      )
      if (payload) return payload
    }
    throw new errors.JWSSignatureVerificationFailed()
  }
}

/** Whom a token stands for: `sub`, or the client itself where nobody is behind it. */
export function readClaims(claims: JsonObject, options: ClaimsOptions): AuthResult {
  const { tenantClaim, idPrefix = '' } = options
  const bound = claims.cnf === undefined ? {} : { confirmation: claims.cnf }
  if (options.principal) {
    const principal = options.principal(claims)
    return principal ? { principal, ...bound } : authFailure('the claims are of nobody who may call')
  }
  const id = textOf(claims.sub) ?? textOf(claims.client_id) ?? textOf(claims.azp)
  if (id === undefined) return authFailure('the token is of nobody: it has no sub and no client_id')
  const tenant = tenantClaim === undefined ? undefined : textOf(claims[tenantClaim])
  if (tenantClaim !== undefined && tenant === undefined) return authFailure(`the token has no ${tenantClaim}`)
  const scopes = [...new Set([...wordsOf(claims.scope), ...wordsOf(claims.scp)])]
  return { principal: { id: `${idPrefix}${id}`, scopes, claims, ...(tenant !== undefined && { tenant }) }, ...bound }
}

/** Our own trouble, not the caller's. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

/** The keys of an issuer. */
export type Keys = JWTVerifyGetKey

/** The keys at an address, fetched again when they are old, and when a token names one that is not among them. */
export function remoteKeys(options: RemoteKeysOptions): Keys {
  const { url, cacheFor = 600, staleFor = 3600, cooldown = 30 } = options
  let keys: { readonly find: Keys; readonly fetched: number } | undefined
  let tried = Number.NEGATIVE_INFINITY
  let failure: unknown
  let fetching: Promise<void> | undefined

  async function load(): Promise<void> {
    tried = now()
    try {
      const { createLocalJWKSet } = await import('jose')
      const set = await fetchJson(await url(), {}, options.fetch)
      keys = { find: createLocalJWKSet(set as unknown as JSONWebKeySet), fetched: now() }
      failure = undefined
    } catch (error) {
      failure = error
    } finally {
      fetching = undefined
    }
  }

  function refresh(): Promise<void> {
    if (!fetching && now() - tried < cooldown) return Promise.resolve()
    fetching ??= load()
    return fetching
  }

  /** The last good ones, if they are not too old. */
  function current(): Keys {
    if (keys && now() - keys.fetched < Math.max(cacheFor, staleFor)) return keys.find
    throw new KeysUnavailable('the keys of the issuer cannot be fetched', { cause: failure })
  }

  return async (header, token) => {
    if (!keys || now() - keys.fetched >= cacheFor) await refresh()
    try {
      return await current()(header, token)
    } catch (error) {
      if (!isUnknownKey(error)) throw error
      const before = keys
      await refresh()
      if (keys === before) throw error
      return await current()(header, token)
    }
  }
}

function textOf(claim: Json | undefined): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

/** Of RFC 8693 §4.2 it is a text; some issuers have a list. */
function wordsOf(scope: Json | undefined): readonly string[] {
  if (typeof scope === 'string') return scope.split(' ').filter((word) => word !== '')
  return Array.isArray(scope) ? scope.filter((word) => typeof word === 'string') : []
}

/** Seconds that never go back. */
function now(): number {
  return performance.now() / 1000
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_NO_MATCHING_KEY'
}

function requireNames(what: string, names: string | readonly string[]): void {
  const all = [names].flat()
  if (all.length > 0 && all.every((name) => typeof name === 'string' && name !== '')) return
  throw new TypeError(`${what}: expected the one that tokens must name, got ${JSON.stringify(names)}`)
}

/** A public key must never be taken for a secret, nor the other way round. */
function defaultAlgorithms(source: KeySource | JWTVerifyGetKey): readonly string[] {
  return typeof source === 'object' && 'secret' in source ? ['HS256'] : asymmetric
}

const asymmetric = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

function thumbprintIn(confirmation: Json): Json | undefined {
  if (typeof confirmation !== 'object' || confirmation === null || Array.isArray(confirmation)) return undefined
  const { 'x5t#S256': thumbprint, ...others } = confirmation as { readonly [name: string]: Json }
  return Object.keys(others).length === 0 ? thumbprint : undefined
}
