import type { JSONWebKeySet, JWK, JWTVerifyGetKey } from 'jose'
import { isObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import { fetchJson, requireSecureUrl } from './fetch-json.ts'

const asymmetricAlgorithms = [
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
]

const secretAlgorithms = ['HS256', 'HS384', 'HS512']

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

/** The key set could not be fetched: an error of the server or the issuer, not of the caller. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

/** Opens the keys, or throws a `TypeError` that names what is wrong with them. */
export function openKeySource(source: KeySource): JWTVerifyGetKey {
  requireOneKind(source)
  if ('url' in source) {
    const url = requireSecureUrl('keys.url', source.url)
    return remoteKeys({ ...source, url: () => url })
  }
  if ('secret' in source) {
    const secret = requireSecret(source.secret)
    return () => secret
  }
  const keys = readKeySet(source.jwks)
  let find: JWTVerifyGetKey | undefined
  return async (header, token) => {
    find ??= (await import('jose')).createLocalJWKSet({ keys: [...keys] })
    return await find(header, token)
  }
}

/**
 * The algorithms that tokens may have: the listed ones, or all that fit the keys. A public key must never be used as a
 * secret, nor a secret as a public key.
 */
export function readAlgorithms(
  listed: readonly string[] | undefined,
  source: KeySource | JWTVerifyGetKey,
): readonly string[] {
  const isSecret = typeof source === 'object' && 'secret' in source
  if (listed === undefined) return isSecret ? ['HS256'] : asymmetricAlgorithms
  if (!Array.isArray(listed) || listed.length === 0) {
    throw wrongKeys('algorithms', "a list with at least one name, such as ['ES256']", listed)
  }
  if (listed.some((name) => `${name}`.toLowerCase() === 'none')) throw new TypeError('algorithms: none proves nothing')
  const usable = isSecret ? secretAlgorithms : asymmetricAlgorithms
  const hasSecrets = typeof source === 'object' && 'jwks' in source && readKeySet(source.jwks).some(isOctetKey)
  if (hasSecrets || listed.some((name) => usable.includes(name))) return listed
  const what = isSecret ? 'a secret' : 'public keys'
  throw new TypeError(`algorithms: ${what} can verify ${usable.join(', ')}, got ${listed.join(', ')}`)
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

/** HMAC keys shorter than the hash can be guessed (RFC 7518 §3.2). */
const minSecret = 32

function requireOneKind(source: unknown): void {
  const expected = 'one of { url }, { jwks } and { secret }'
  if (!isObject(source)) throw wrongKeys('keys', expected, source)
  const kinds = ['url', 'jwks', 'secret'].filter((kind) => source[kind] !== undefined)
  if (kinds.length === 1) return
  const actual = kinds.length === 0 ? 'none of them' : kinds.join(' and ')
  throw new TypeError(`keys: expected ${expected}, got ${actual}`)
}

function requireSecret(secret: unknown): Uint8Array {
  if (!(secret instanceof Uint8Array)) {
    const hint = typeof secret === 'string' ? ': convert a text by new TextEncoder().encode(…)' : ''
    throw wrongKeys('keys.secret', `bytes (a Uint8Array of at least ${minSecret})`, secret, hint)
  }
  if (secret.length < minSecret) {
    throw new TypeError(`keys.secret: expected at least ${minSecret} bytes, got ${secret.length}`)
  }
  return secret
}

function readKeySet(jwks: unknown): readonly JWK[] {
  const keys: unknown = isObject(jwks) ? jwks.keys : jwks
  if (!Array.isArray(keys) || keys.length === 0) {
    throw wrongKeys('keys.jwks', 'a JWK Set ({ "keys": [ … ] }) or a list with at least one key', jwks)
  }
  for (const [at, key] of keys.entries()) checkKey(`keys.jwks[${at}]`, key)
  return keys
}

/** The members that each type of key must have (RFC 7518 §6, RFC 8037 §2). All of them are texts. */
const keyMembers: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'x', 'y'],
  RSA: ['n', 'e'],
  OKP: ['crv', 'x'],
  oct: ['k'],
}

function checkKey(name: string, key: unknown): void {
  if (!isObject(key)) throw wrongKeys(name, 'a JSON Web Key such as { "kty": "EC", … }', key)
  const kty = typeof key.kty === 'string' ? key.kty : ''
  const members = Object.hasOwn(keyMembers, kty) ? keyMembers[kty] : undefined
  if (!members) throw wrongKeys(`${name}.kty`, Object.keys(keyMembers).join(', '), key.kty)
  const missing = members.filter((member) => typeof key[member] !== 'string' || key[member] === '')
  if (missing.length > 0) throw new TypeError(`${name}: a key of type ${kty} needs ${missing.join(', ')}`)
  if (kty !== 'oct' && key.d !== undefined) {
    throw new TypeError(`${name}: expected a public key, got a private one. Remove d and the other private members.`)
  }
}

function isOctetKey({ kty }: JWK): boolean {
  return kty === 'oct'
}

/** Does not contain the value, which may be a secret. */
function wrongKeys(name: string, expected: string, value: unknown, hint = ''): TypeError {
  const actual = value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value
  return new TypeError(`${name}: expected ${expected}, got ${actual === 'object' ? 'an object' : actual}${hint}`)
}

/** Seconds of a clock that never goes back. */
function now(): number {
  return performance.now() / 1000
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_NO_MATCHING_KEY'
}
