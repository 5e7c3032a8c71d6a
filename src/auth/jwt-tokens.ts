import type { JWK, JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import type { JsonObject } from '../protocol/model.ts'
import { type ClaimsOptions, verdictOn } from './claims.ts'
import { requireSafe } from './fetch-json.ts'
import { KeysUnavailable, type RemoteKeysOptions, remoteKeys } from './jwks.ts'
import { expiring, refused, type Verdict } from './scheme.ts'
import { createVerified } from './verified.ts'

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

/** The keys by which tokens are signed: where they are published, themselves, or a secret that is shared. */
export type KeySource =
  | ({ readonly url: string | URL } & Omit<RemoteKeysOptions, 'url'>)
  | { readonly jwks: readonly JWK[] }
  | { readonly secret: Uint8Array }

/** Checks a token and says whom it stands for. */
export type TokenCheck = (token: string) => Verdict | Promise<Verdict>

/** Seconds after which a token is verified again, although it has not expired: its key may have been withdrawn. */
const rememberFor = 600

export function jwtTokens(rules: JwtRules, source: KeySource | JWTVerifyGetKey): TokenCheck {
  const { issuer, audience, clockSkew = 30, typ } = rules
  requireNames('issuer', issuer)
  requireNames('audience', audience)
  const algorithms = [...(rules.algorithms ?? defaultAlgorithms(source))]
  if (algorithms.some((name) => name.toLowerCase() === 'none')) throw new TypeError('algorithms: none proves nothing')
  const keys = typeof source === 'function' ? source : keysOf(source)
  const verified = createVerified<Verdict>()

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
    const value = verdictOn(payload as JWTPayload & JsonObject, rules)
    if (!value || 'refused' in value) return { value }
    const expires = ((payload.exp ?? 0) + clockSkew) * 1000
    return { value: expiring(value, expires), until: Math.min(expires, Date.now() + rememberFor * 1000) }
  }

  return (token) =>
    verified.of(token, async () => {
      try {
        return await check(token)
      } catch (error) {
        if (error instanceof KeysUnavailable) return { value: refused(error.message, error.cause ?? error) }
        return { value: refused(error instanceof Error ? error.message : 'the token cannot be read') }
      }
    })
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

const asymmetric = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

/** A public key must never be taken for a secret, nor the other way round. */
function defaultAlgorithms(source: KeySource | JWTVerifyGetKey): readonly string[] {
  return typeof source === 'object' && 'secret' in source ? ['HS256'] : asymmetric
}

export function keysOf(source: KeySource): JWTVerifyGetKey {
  if ('url' in source) {
    const url = requireSafe('keys.url', source.url)
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

function requireNames(what: string, names: string | readonly string[]): void {
  const all = [names].flat()
  if (all.length > 0 && all.every((name) => typeof name === 'string' && name !== '')) return
  throw new TypeError(`${what}: expected the one that tokens must name, got ${JSON.stringify(names)}`)
}
