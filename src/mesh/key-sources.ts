import { BoundedMap } from '../core/base/bounded-map.ts'
import { aFunction, checkOptions, integer, milliseconds, type OptionChecks } from '../core/base/options.ts'
import { importPublicKey, type KeyMaterial, type KeyOptions, keyChecks, type MeshKey } from './keys.ts'

/** Looks up the keys of other agents. */
export interface MeshKeySource {
  /** All keys that the agent may currently sign with. */
  keysOf(agentId: string): Promise<readonly MeshKey[]> | readonly MeshKey[]
}

/** Keys from the configuration. */
export async function configuredKeys(
  agents: Readonly<Record<string, KeyMaterial | readonly KeyMaterial[]>>,
  options: KeyOptions = {},
): Promise<MeshKeySource> {
  checkOptions('configuredKeys', options, keyChecks)
  const keys = new Map<string, readonly MeshKey[]>()
  for (const [agentId, material] of Object.entries(agents)) {
    const all = Array.isArray(material) ? (material as readonly KeyMaterial[]) : [material as KeyMaterial]
    try {
      keys.set(agentId, await Promise.all(all.map((item) => importPublicKey(item, options))))
    } catch (cause) {
      throw new TypeError(`The key of ${agentId} cannot be used: ${(cause as Error).message}`, { cause })
    }
  }
  return { keysOf: (agentId) => keys.get(agentId) ?? [] }
}

export interface LookedUpKeysOptions extends KeyOptions {
  /** Fetches the keys of an agent, for example from a registry. */
  readonly lookUp: (agentId: string) => Promise<readonly KeyMaterial[]>
  /** Milliseconds for which a result is cached, also an empty one. Defaults to 60,000. */
  readonly ttl?: number
  readonly capacity?: number
}

export const lookedUpKeysChecks: OptionChecks<Omit<LookedUpKeysOptions, 'lookUp'>> = {
  ...keyChecks,
  ttl: milliseconds(),
  capacity: integer({ min: 1 }),
}

/** Keys that are fetched on demand, with one lookup per agent at a time. */
export function lookedUpKeys(options: LookedUpKeysOptions): MeshKeySource {
  checkOptions('lookedUpKeys', options, { ...lookedUpKeysChecks, lookUp: aFunction }, ['lookUp'])
  const { lookUp, ttl = 60_000, capacity = 10_000, ...keyOptions } = options
  const cache = new BoundedMap<string, Promise<readonly MeshKey[]>>(capacity)
  return {
    keysOf(agentId) {
      const cached = cache.get(agentId)
      if (cached) return cached
      const keys = lookUp(agentId).then((all) =>
        Promise.all(all.map((material) => importPublicKey(material, keyOptions))),
      )
      cache.set(agentId, keys, Date.now() + ttl)
      // The next caller retries a failed lookup.
      keys.catch(() => cache.delete(agentId))
      return keys
    },
  }
}

/** Keys from first handshakes. The first agent to use an id keeps it. */
export interface FirstHandshakeKeys extends MeshKeySource {
  /** Returns whether the key belongs to the agent from now on. */
  learn(agentId: string, key: MeshKey): boolean
  forget(agentId: string): void
}

/**
 * Trusts the key that a peer shows in its first handshake, and no other one after that. `capacity` limits the peers;
 * it defaults to 10,000.
 */
export function firstHandshakeKeys(options: { readonly capacity?: number } = {}): FirstHandshakeKeys {
  checkOptions('firstHandshakeKeys', options, { capacity: integer({ min: 1 }) })
  const { capacity = 10_000 } = options
  const learned = new Map<string, MeshKey>()
  return {
    keysOf(agentId) {
      const key = learned.get(agentId)
      return key ? [key] : []
    },
    learn(agentId, key) {
      const first = learned.get(agentId)
      if (first) return first.fingerprint === key.fingerprint
      // Evicting an agent in favour of a new one would let new agents take over ids.
      if (learned.size >= capacity) return false
      learned.set(agentId, key)
      return true
    },
    forget: (agentId) => learned.delete(agentId),
  }
}

/** Uses the first source that has keys of an agent. */
export function combineKeySources(...sources: readonly MeshKeySource[]): MeshKeySource {
  return {
    async keysOf(agentId) {
      for (const source of sources) {
        const keys = await source.keysOf(agentId)
        if (keys.length > 0) return keys
      }
      return []
    },
  }
}
