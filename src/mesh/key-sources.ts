import { BoundedMap } from '../base/bounded-map.ts'
import { importPublicKey, type KeyMaterial, type KeyOptions, type MeshKey } from './keys.ts'

/** Where the keys of other agents come from. */
export interface MeshKeySource {
  /** All keys that the agent may sign with now. */
  keysOf(agentId: string): Promise<readonly MeshKey[]> | readonly MeshKey[]
}

/** Keys that the operator knows. */
export async function configuredKeys(
  agents: Readonly<Record<string, KeyMaterial | readonly KeyMaterial[]>>,
  options: KeyOptions = {},
): Promise<MeshKeySource> {
  const known = new Map<string, readonly MeshKey[]>()
  for (const [agentId, material] of Object.entries(agents)) {
    const all = Array.isArray(material) ? (material as readonly KeyMaterial[]) : [material as KeyMaterial]
    try {
      known.set(agentId, await Promise.all(all.map((each) => importPublicKey(each, options))))
    } catch (cause) {
      throw new TypeError(`The key of ${agentId} cannot be used: ${(cause as Error).message}`, { cause })
    }
  }
  return { keysOf: (agentId) => known.get(agentId) ?? [] }
}

export interface LookedUpKeysOptions extends KeyOptions {
  /** Asks whoever knows, such as a registry. */
  readonly lookUp: (agentId: string) => Promise<readonly KeyMaterial[]>
  /** Milliseconds for which an answer holds, also the one that there is no key. */
  readonly ttl?: number
  readonly capacity?: number
}

/** Keys that are asked for when they are needed, once at a time and agent. */
export function lookedUpKeys({
  lookUp,
  ttl = 60_000,
  capacity = 10_000,
  ...options
}: LookedUpKeysOptions): MeshKeySource {
  const known = new BoundedMap<string, Promise<readonly MeshKey[]>>(capacity)
  return {
    keysOf(agentId) {
      const found = known.get(agentId)
      if (found) return found
      const keys = lookUp(agentId).then((all) => Promise.all(all.map((each) => importPublicKey(each, options))))
      known.set(agentId, keys, Date.now() + ttl)
      // A lookup that failed is tried again by the next one who asks.
      keys.catch(() => known.delete(agentId))
      return keys
    },
  }
}

/** Keys that agents showed in their first handshake. Whoever comes first under a name keeps it. */
export interface FirstHandshakeKeys extends MeshKeySource {
  /** Answers whether the key is the agent's from now on. */
  learn(agentId: string, key: MeshKey): boolean
  forget(agentId: string): void
}

export function firstHandshakeKeys({ capacity = 10_000 } = {}): FirstHandshakeKeys {
  const known = new Map<string, MeshKey>()
  return {
    keysOf(agentId) {
      const key = known.get(agentId)
      return key ? [key] : []
    },
    learn(agentId, key) {
      const own = known.get(agentId)
      if (own) return own.fingerprint === key.fingerprint
      // To forget somebody in favour of a newcomer would let newcomers take over names.
      if (known.size >= capacity) return false
      known.set(agentId, key)
      return true
    },
    forget: (agentId) => known.delete(agentId),
  }
}

/** The first source that knows an agent decides. */
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
