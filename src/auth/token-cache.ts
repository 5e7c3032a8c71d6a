import { BoundedMap } from '../base/bounded-map.ts'
import { sha256 } from '../base/hash.ts'

/** So many are known at once; beyond that the one that was verified first is forgotten. */
const limit = 10_000

export interface Verification<T> {
  readonly value: T
  /** Milliseconds since 1970. Without it the value is not kept. */
  readonly until?: number
}

/** What was verified before, by the digest of the credentials: they themselves are not kept. */
export interface TokenCache<T> {
  /** What these credentials stand for, at once if it is known; else `verify` says so, and until when. */
  of(credentials: string, verify: () => Promise<Verification<T>>): T | Promise<T>
}

export function createTokenCache<T>(): TokenCache<T> {
  const known = new BoundedMap<string, { readonly value: T }>(limit)
  /** Who come together with the same are told together. */
  const learning = new Map<string, Promise<T>>()

  async function learn(digest: string, verify: () => Promise<Verification<T>>): Promise<T> {
    const { value, until } = await verify()
    if (until === undefined || until <= Date.now()) return value
    known.set(digest, { value }, until)
    return value
  }

  return {
    of(credentials, verify) {
      const digest = String.fromCharCode(...sha256(credentials))
      const before = known.get(digest)
      if (before) return before.value
      const begun = learning.get(digest) ?? learn(digest, verify).finally(() => learning.delete(digest))
      learning.set(digest, begun)
      return begun
    },
  }
}
