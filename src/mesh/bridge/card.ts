import { defined } from '../../core/base/json.ts'
import { checkOptions, text } from '../../core/base/options.ts'
import type { AgentCard } from '../../core/protocol/card.ts'
import type { MeshCard } from '../envelope.ts'

/** Limits of the mesh schemas. */
const limits = { name: 100, description: 500, capabilities: 50 } as const

/** Options of `meshCardOf`. */
export interface MeshCardOptions {
  /** 3 to 128 letters, digits and dashes. Derived from the agent's name by default. */
  readonly agentId?: string
  /** The URL that accepts its envelopes, for the registry. */
  readonly endpoint?: string
}

/** Converts an A2A card to a mesh card: skill ids and tags become capabilities. */
export function meshCardOf(
  card: Pick<AgentCard, 'name' | 'description' | 'version' | 'skills'>,
  options: MeshCardOptions = {},
): MeshCard {
  checkOptions('meshCardOf', options, { agentId: text, endpoint: text })
  const { agentId = toAgentId(card.name), endpoint } = options
  const ids = card.skills.map(({ id }) => id)
  const capabilities = new Set([...ids, ...card.skills.flatMap(({ tags }) => tags)])
  return defined({
    agent_id: agentId,
    name: truncate(card.name, limits.name),
    version: /^\d+\.\d+\.\d+$/.test(card.version) ? card.version : '1.0.0',
    description: truncate(card.description, limits.description),
    capabilities: capabilities.size === 0 ? ['a2a'] : [...capabilities].slice(0, limits.capabilities),
    supported_protocols: ['A2A/1.0'],
    metadata: endpoint === undefined ? undefined : { endpoint },
  })
}

function toAgentId(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  if (plain.length >= 3) return plain.slice(0, 128).replace(/-+$/, '')
  return plain === '' ? 'agent' : `agent-${plain}`
}

/** Never splits a surrogate pair. */
function truncate(text: string, length: number): string {
  return text.length <= length ? text : [...text.slice(0, length)].slice(0, -1).join('')
}
