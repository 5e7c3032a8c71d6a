import { BoundedMap } from '../base/bounded-map.ts'
import { sha256Key } from '../base/hash.ts'

/** Entries of a cache. Beyond that an unused one is dropped. */
const limit = 10_000

export interface Verification<T> {
  readonly value: T
  /** When the value expires, in milliseconds since 1970. Without it the value is not cached. */
  readonly until?: number
}

/** Results of verified credentials, by their digest: the credentials themselves are not stored. */
export interface TokenCache<T> {
  /** Returns the cached result at once, or calls `verify`. */
  get(credentials: string, verify: () => Promise<Verification<T>>): T | Promise<T>
}

export function createTokenCache<T>(): TokenCache<T> {
  /** Each value is in an object, because it may be undefined. */
  const cached = new BoundedMap<string, { readonly value: T }>(limit)
  /** Verifications in progress: simultaneous requests with the same credentials share one. */
  const pending = new Map<string, Promise<T>>()

  async function load(digest: string, verify: () => Promise<Verification<T>>): Promise<T> {
    const { value, until } = await verify()
    if (until === undefined || until <= Date.now()) return value
    cached.set(digest, { value }, until)
    return value
  }

  return {
    get(credentials, verify) {
      const digest = sha256Key(credentials)
      const entry = cached.get(digest)
      if (entry) return entry.value
      const loading = pending.get(digest) ?? load(digest, verify).finally(() => pending.delete(digest))
      pending.set(digest, loading)
      return loading
    },
  }
}
