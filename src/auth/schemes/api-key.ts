import { fromHex, isEqual, sha256, toHex } from '../../base/hash.ts'
import type { Principal } from '../../protocol/model.ts'
import { type AuthResult, authFailure, challengeOf, credentialIn, type Scheme } from '../scheme.ts'

/** What is stored of a key: its SHA-256. Keys must be random and long (32 bytes, say), as `newApiKey` makes them. */
export async function hashApiKey(key: string): Promise<string> {
  return toHex(sha256(key))
}

export function newApiKey(): string {
  return toHex(crypto.getRandomValues(new Uint8Array(32)))
}

/** Whom a key stands for. The key itself is stored nowhere. */
export interface StoredKey extends Pick<Principal, 'id' | 'tenant' | 'scopes' | 'claims'> {
  /** As `hashApiKey` gives it. */
  readonly hash: string
}

export interface ApiKeyOptions {
  /** Where callers put the key. In a header by default. */
  readonly in?: 'header' | 'query' | 'cookie'
  /** Of the header, the parameter or the cookie. `X-API-Key` by default. */
  readonly name?: string
  /** The keys that are good, by `hashApiKey`; or where to look one up by its hash. */
  readonly keys: readonly StoredKey[] | ((hash: string) => StoredKey | undefined | Promise<StoredKey | undefined>)
  readonly description?: string
}

export function apiKey(options: ApiKeyOptions): Scheme {
  const { in: location = 'header', name = 'X-API-Key', keys, description } = options
  const find = typeof keys === 'function' ? keys : indexed(keys)

  return {
    card: { type: 'api-key', name, location, ...(description !== undefined && { description }) },
    challenge: ({ realm }) => challengeOf('ApiKey', { realm, in: location, name }),
    authenticate(presented) {
      const key = credentialIn(presented, location, name)
      if (typeof key !== 'string') return key
      const digest = sha256(key)
      const found = find(toHex(digest))
      return found instanceof Promise ? found.then((stored) => verdictOf(stored, digest)) : verdictOf(found, digest)
    },
  }
}

function indexed(keys: readonly StoredKey[]): (hash: string) => StoredKey | undefined {
  for (const { id, hash } of keys) {
    if (fromHex(hash)?.length !== 32) throw new TypeError(`apiKey(): expected the hash of ${id} as hashApiKey gives it`)
  }
  const byHash = new Map(keys.map((key) => [key.hash.toLowerCase(), key]))
  return (hash) => byHash.get(hash)
}

/** How long finding takes tells something of a hash that nobody chose, and nothing of the key. */
function verdictOf(stored: StoredKey | undefined, digest: Uint8Array): AuthResult {
  const known = stored && fromHex(stored.hash)
  if (!stored || !known || !isEqual(known, digest)) return authFailure('the key is unknown')
  const { hash: _, ...principal } = stored
  return { principal }
}
