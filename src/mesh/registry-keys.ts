import { MeshError, MeshRefusal } from './errors.ts'
import { isObject } from './form.ts'
import type { KeyMaterial } from './key-material.ts'
import { type KeySource, type LookedUpKeysOptions, lookedUpKeys } from './key-sources.ts'
import type { MeshLink } from './link.ts'

/**
 * The keys that agents showed when they registered. The link is asked for late: it belongs to the peer that needs the
 * keys. The key of the registry itself must come from elsewhere, such as the configuration.
 */
export function registryKeys(
  link: () => Pick<MeshLink, 'request'>,
  options: Omit<LookedUpKeysOptions, 'lookUp'> = {},
): KeySource {
  const source = lookedUpKeys({ ...options, lookUp: (agentId) => keysAt(link(), agentId) })
  // Whoever vouches for others does not vouch for itself.
  return { keysOf: (agentId) => (agentId === 'registry' ? [] : source.keysOf(agentId)) }
}

async function keysAt(link: Pick<MeshLink, 'request'>, agentId: string): Promise<readonly KeyMaterial[]> {
  try {
    const { agent_card: card } = await link.request('registry.lookup', { agent_id: agentId })
    const metadata = isObject(card) ? card.metadata : undefined
    const key = isObject(metadata) ? metadata.public_key : undefined
    return typeof key === 'string' || isObject(key) ? [key as KeyMaterial] : []
  } catch (error) {
    if (error instanceof MeshRefusal && error.code === 'UNKNOWN_AGENT') return []
    const problem = 'The registry, which knows the keys of others, does not answer: try again.'
    throw new MeshError('SERVICE_UNAVAILABLE', problem, { retryAfter: 1, cause: error })
  }
}
