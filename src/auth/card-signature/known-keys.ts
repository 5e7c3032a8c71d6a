import {
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  errors,
  type FlattenedJWSInput,
  type JWK,
  type JWSHeaderParameters,
} from 'jose'
import type { Fetch } from '../../http/outbound.ts'
import { readLimited } from '../../http/read-limited.ts'

/** Gives the keys that may have made a signature. */
export type KnownKeys = (header: JWSHeaderParameters, jws: FlattenedJWSInput) => Promise<readonly (CryptoKey | JWK)[]>

/** Those that were handed over. One without a name may be any. */
export function pinnedKeys(keys: readonly JWK[]): KnownKeys {
  return async ({ kid }) => keys.filter((key) => key.kid === undefined || key.kid === kid)
}

export interface RemoteKeysOptions {
  readonly fetch: Fetch
  /** Milliseconds for which keys are used before they are asked for again. 10 minutes by default. */
  readonly maxAge?: number
  /** Milliseconds between two questions that an unknown name of a key causes. 30 seconds by default. */
  readonly cooldown?: number
  /** Milliseconds that the question may take. 5 seconds by default. */
  readonly timeout?: number
}

const maxBytes = 2 ** 18

/** Those of a JWK Set somewhere: kept, and asked for again when a new name appears, but not more often than that. */
export function remoteKeys(url: string, options: RemoteKeysOptions): KnownKeys {
  const { fetch, maxAge = 600_000, cooldown = 30_000, timeout = 5_000 } = options
  const keyOf = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: maxAge,
    cooldownDuration: cooldown,
    timeoutDuration: timeout,
    async [customFetch](address, { headers, method, redirect, signal }) {
      const response = await fetch(address, { headers, method, redirect, signal })
      const { status } = response
      if (status !== 200) return new Response(null, { status: status < 200 ? 500 : status })
      return new Response(new Uint8Array(await readLimited(response.body, maxBytes)), { status })
    },
  })
  return async (header, jws) => {
    try {
      return [await keyOf(header, jws)]
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return []
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      return await Array.fromAsync(error)
    }
  }
}

/** Several sets by their addresses, as signatures name them; only of origins that are trusted. */
export function namedKeys(origins: readonly string[], options: RemoteKeysOptions): KnownKeys {
  const sets = new Map<string, KnownKeys>()
  return async (header, jws) => {
    const { jku } = header
    if (jku === undefined || !URL.canParse(jku) || !origins.includes(new URL(jku).origin)) return []
    const keys = sets.get(jku) ?? remoteKeys(jku, options)
    if (sets.size >= maxSets) sets.clear()
    sets.set(jku, keys)
    return await keys(header, jws)
  }
}

const maxSets = 64
