import type { JSONWebKeySet, JWK, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import { toBase64Url } from '../base/base64.ts'
import { fromHex } from '../base/hash.ts'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import type { Principal } from '../protocol/model.ts'
import { fetchJson, requireSecureUrl } from './fetch-json.ts'
import { type AuthRequest, type AuthResult, authFailure, withExpiry } from './scheme.ts'
import { createTokenCache, type Verification } from './token-cache.ts'

/** Seconds after which an unexpired token is verified again: its key may have been withdrawn. */
const cacheTokensFor = 600

const asymmetricAlgorithms = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

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

export interface RemoteKeySetOptions {
  /** URL of the key set. Called before every fetch. */
  readonly url: () => string | Promise<string>
  /** Seconds after which the keys are fetched again. Defaults to 10 minutes. */
  readonly cacheFor?: number
  /** Seconds for which the last keys are used while they cannot be fetched. Defaults to an hour. */
  readonly staleFor?: number
  /** Seconds between two fetches, so that callers cannot cause one with every made-up key id. Defaults to 30. */
  readonly cooldown?: number
  /** Defaults to the global `fetch`. */
  readonly fetch?: Fetch
}

/** The keys that sign tokens: the URL of a key set, the keys themselves, or a shared secret. */
export type KeySource =
  | ({ readonly url: string | URL } & Omit<RemoteKeySetOptions, 'url'>)
  | { readonly jwks: JSONWebKeySet | readonly JWK[] }
  | { readonly secret: Uint8Array }

/** Checks a token and returns its principal. */
export type TokenCheck = (token: string) => AuthResult | Promise<AuthResult>

/** Checks signed tokens (RFC 7519). */
export function jwtTokens(rules: JwtRules, source: KeySource | JWTVerifyGetKey): TokenCheck {
  const { issuer, audience, clockSkew = 30, typ } = rules
  requireNames('issuer', issuer)
  requireNames('audience', audience)
  const algorithms = [...(rules.algorithms ?? defaultAlgorithms(source))]
  if (algorithms.some((name) => name.toLowerCase() === 'none')) throw new TypeError('algorithms: none proves nothing')
  const keys = typeof source === 'function' ? source : openKeySource(source)
  const cache = createTokenCache<AuthResult>()

  const expected: JWTVerifyOptions = {
    issuer: [issuer].flat(),
    audience: [audience].flat(),
    algorithms,
    clockTolerance: clockSkew,
    requiredClaims: ['exp'],
    ...(typ !== undefined && { typ }),
  }

  async function verify(token: string): Promise<Verification<AuthResult>> {
    const payload = await verifyJwt(token, keys, expected)
    const value = readClaims(payload as JWTPayload & JsonObject, rules)
    if (!value || 'reason' in value) return { value }
    const expires = ((payload.exp ?? 0) + clockSkew) * 1000
    return { value: withExpiry(value, expires), until: Math.min(expires, Date.now() + cacheTokensFor * 1000) }
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
  const scopes = [...new Set([...wordsOf(claims.scope), ...wordsOf(claims.scp)])]
  const principal = { id: `${idPrefix}${id}`, scopes, claims, ...(tenant !== undefined && { tenant }) }
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

/** The key set could not be fetched: an error of the server or the issuer, not of the caller. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

export function openKeySource(source: KeySource): JWTVerifyGetKey {
  if ('url' in source) {
    const url = requireSecureUrl('keys.url', source.url)
    return remoteKeys({ ...source, url: () => url })
  }
  if ('secret' in source) {
    const { secret } = source
    if (secret.length < 32) throw new TypeError('keys.secret: expected at least 32 bytes')
    return () => secret
  }
  const { jwks } = source
  const keys = Array.isArray(jwks) ? jwks : (jwks as JSONWebKeySet).keys
  if (!Array.isArray(keys) || keys.length === 0) {
    throw new TypeError('keys.jwks: expected a JWK Set ({ "keys": [ … ] }) or a list with at least one key')
  }
  let find: JWTVerifyGetKey | undefined
  return async (header, token) => {
    find ??= (await import('jose')).createLocalJWKSet({ keys: [...keys] })
    return await find(header, token)
  }
}

/**
 * A key set that is fetched again when it is old, and when a token names an unknown key. jose's `createRemoteJWKSet` does
 * not use stale keys, and has no cooldown after a failed fetch: while the issuer is down, every call would wait for the
 * timeout.
 */
export function remoteKeys(options: RemoteKeySetOptions): JWTVerifyGetKey {
  const { url, cacheFor = 600, staleFor = 3600, cooldown = 30 } = options
  let keys: { readonly find: JWTVerifyGetKey; readonly fetched: number } | undefined
  let lastFetch = Number.NEGATIVE_INFINITY
  let failure: unknown
  let fetching: Promise<void> | undefined

  async function load(): Promise<void> {
    lastFetch = now()
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
    if (!fetching && now() - lastFetch < cooldown) return Promise.resolve()
    fetching ??= load()
    return fetching
  }

  /** The last keys, unless they are too old. */
  function current(): JWTVerifyGetKey {
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

function requireNames(what: string, names: string | readonly string[]): void {
  const all = [names].flat()
  if (all.length > 0 && all.every((name) => typeof name === 'string' && name !== '')) return
  throw new TypeError(`${what}: expected the one that tokens must name, got ${JSON.stringify(names)}`)
}

/** A public key must never be used as a secret, nor a secret as a public key. */
function defaultAlgorithms(source: KeySource | JWTVerifyGetKey): readonly string[] {
  return typeof source === 'object' && 'secret' in source ? ['HS256'] : asymmetricAlgorithms
}

function textOf(claim: Json | undefined): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

/** RFC 8693 §4.2 has a string; some issuers send a list. */
function wordsOf(scope: Json | undefined): readonly string[] {
  if (typeof scope === 'string') return scope.split(' ').filter((word) => word !== '')
  return Array.isArray(scope) ? scope.filter((word) => typeof word === 'string') : []
}

/** The thumbprint of a certificate, if the confirmation has no other member. */
function thumbprintIn(confirmation: Json): Json | undefined {
  if (!isObject(confirmation)) return undefined
  const { 'x5t#S256': thumbprint, ...others } = confirmation
  return Object.keys(others).length === 0 ? thumbprint : undefined
}

/** Seconds of a clock that never goes back. */
function now(): number {
  return performance.now() / 1000
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_NO_MATCHING_KEY'
}
