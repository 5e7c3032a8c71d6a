import { fromHex, isEqual, sha256, sha256Key, toHex } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import { anything, checkOptions, oneOf, text } from '../../base/options.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthResult, type AuthSuccess, authFailure, challengeOf, credentialIn, type Scheme } from '../scheme.ts'

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
  const check = typeof keys === 'function' ? checkByLookup(keys) : checkInList(keys)

  return {
    card: defined({ type: 'api-key', name, location, description }),
    challenge: ({ realm }) => challengeOf('ApiKey', { realm, in: location, name }),
    authenticate(request) {
      const key = credentialIn(request, location, name)
      return typeof key === 'string' ? check(key) : key
    },
  }
}

type CheckKey = (key: string) => AuthResult | Promise<AuthResult>

/**
 * Finds keys by their digests. The duration of the lookup reveals something about a digest, which the caller cannot choose,
 * and nothing about a key.
 */
function checkInList(keys: readonly StoredKey[]): CheckKey {
  if (!Array.isArray(keys)) {
    throw new TypeError('apiKey(): expected keys as a list of { id, hash } or a function that finds one by its hash')
  }
  const results = new Map<string, AuthSuccess>()
  for (const key of keys as readonly StoredKey[]) {
    const digest = fromHex(key.hash)
    if (digest?.length !== 32) throw new TypeError(`apiKey(): expected the hash of ${key.id} as hashApiKey gives it`)
    results.set(String.fromCharCode(...digest), { ...successOf(key), isKept: true })
  }
  return (key) => results.get(sha256Key(key)) ?? authFailure('the key is unknown')
}

function checkByLookup(find: Extract<ApiKeyOptions['keys'], (...values: never[]) => unknown>): CheckKey {
  function compare(stored: StoredKey | undefined, digest: Uint8Array): AuthResult {
    const storedDigest = stored && fromHex(stored.hash)
    if (!stored || !storedDigest || !isEqual(storedDigest, digest)) return authFailure('the key is unknown')
    return successOf(stored)
  }
  return (key) => {
    const digest = sha256(key)
    const stored = find(toHex(digest))
    return stored instanceof Promise ? stored.then((late) => compare(late, digest)) : compare(stored, digest)
  }
}

function successOf({ hash: _, ...principal }: StoredKey): AuthSuccess {
  return { principal }
}
