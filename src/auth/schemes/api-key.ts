import { fromHex, isEqual, sha256, toHex } from '../../base/hash.ts'
import { anything, checkOptions, oneOf, text } from '../../base/options.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthResult, authFailure, challengeOf, credentialIn, type Scheme } from '../scheme.ts'

/** Hashes an API key for storage, by SHA-256. Keys must be random and long, as `newApiKey` creates them. */
export async function hashApiKey(key: string): Promise<string> {
  return toHex(sha256(key))
}

/** Creates a key of 32 random bytes. */
export function newApiKey(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)))
}

/** The principal of a key. The key itself is not stored. */
export interface StoredKey extends Pick<Principal, 'id' | 'tenant' | 'scopes' | 'claims'> {
  /** The result of `hashApiKey`. */
  readonly hash: string
}

/** Options of `apiKey`. */
export interface ApiKeyOptions {
  /** Where callers send the key. Defaults to a header. */
  readonly in?: 'header' | 'query' | 'cookie'
  /** Name of the header, parameter or cookie. Defaults to `X-API-Key`. */
  readonly name?: string
  /** The valid keys, hashed by `hashApiKey`, or a function that looks one up by its hash. */
  readonly keys: readonly StoredKey[] | ((hash: string) => StoredKey | undefined | Promise<StoredKey | undefined>)
  readonly description?: string
}

/**
 * Accepts callers with an API key, in a header, a query parameter or a cookie.
 *
 * @example
 * await serve(echo, {
 *   auth: { schemes: { key: apiKey({ keys: [{ id: 'shop', hash: await hashApiKey('the key of the shop') }] }) } },
 * })
 */
export function apiKey(options: ApiKeyOptions): Scheme {
  checkOptions('apiKey', options, {
    in: oneOf('header', 'query', 'cookie'),
    name: text,
    keys: anything,
    description: text,
  })
  const { in: location = 'header', name = 'X-API-Key', keys, description } = options
  const find = typeof keys === 'function' ? keys : indexKeys(keys)
  /** One principal per key, so that what is known of it need not be found out again. */
  const principals = new WeakMap<StoredKey, Principal>()

  function principalOf(stored: StoredKey): Principal {
    const known = principals.get(stored)
    if (known) return known
    const { hash: _, ...principal } = stored
    principals.set(stored, principal)
    return principal
  }

  /** The duration of the lookup reveals something about a hash, which the caller cannot choose, and nothing about a key. */
  function checkKey(stored: StoredKey | undefined, digest: Uint8Array): AuthResult {
    const storedDigest = stored && fromHex(stored.hash)
    if (!stored || !storedDigest || !isEqual(storedDigest, digest)) return authFailure('the key is unknown')
    return { principal: principalOf(stored) }
  }

  return {
    card: { type: 'api-key', name, location, ...(description !== undefined && { description }) },
    challenge: ({ realm }) => challengeOf('ApiKey', { realm, in: location, name }),
    authenticate(request) {
      const key = credentialIn(request, location, name)
      if (typeof key !== 'string') return key
      const digest = sha256(key)
      const stored = find(toHex(digest))
      return stored instanceof Promise ? stored.then((late) => checkKey(late, digest)) : checkKey(stored, digest)
    },
  }
}

function indexKeys(keys: readonly StoredKey[]): (hash: string) => StoredKey | undefined {
  if (!Array.isArray(keys)) {
    throw new TypeError('apiKey(): expected keys as a list of { id, hash } or a function that finds one by its hash')
  }
  for (const { id, hash } of keys) {
    if (fromHex(hash)?.length !== 32) throw new TypeError(`apiKey(): expected the hash of ${id} as hashApiKey gives it`)
  }
  const byHash = new Map(keys.map((key) => [key.hash.toLowerCase(), key]))
  return (hash) => byHash.get(hash)
}
