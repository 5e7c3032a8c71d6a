import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose'
import type { Fetch } from '../http/outbound.ts'
import { fetchJson } from './fetch-json.ts'

/** The keys of an issuer. */
export type Keys = JWTVerifyGetKey

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

/** Our own trouble, not the caller's. */
export class KeysUnavailable extends Error {
  override readonly name = 'KeysUnavailable'
}

function isUnknownKey(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_JWKS_NO_MATCHING_KEY'
}

/** Seconds that never go back. */
function now(): number {
  return performance.now() / 1000
}
