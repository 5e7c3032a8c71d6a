import type { MeshCard } from '../mesh/envelope.ts'
import type { AgentCard } from '../protocol/card.ts'

/** What the mesh allows. */
const most = { name: 100, description: 500, capabilities: 50 } as const

export interface MeshCardOptions {
  /** 3 to 128 letters, digits and dashes; made of the agent's name unless it is given. */
  readonly agentId?: string
  /** Where its envelopes are posted, for the registry. */
  readonly endpoint?: string
}

/** The card of an agent as the mesh has cards: the ids and tags of its skills are its capabilities. */
export function meshCardOf(
  card: Pick<AgentCard, 'name' | 'description' | 'version' | 'skills'>,
  { agentId = idOf(card.name), endpoint }: MeshCardOptions = {},
): MeshCard {
  const ids = card.skills.map(({ id }) => id)
  const capabilities = new Set([...ids, ...card.skills.flatMap(({ tags }) => tags)])
  return {
    agent_id: agentId,
    name: start(card.name, most.name),
    version: /^\d+\.\d+\.\d+$/.test(card.version) ? card.version : '1.0.0',
    description: start(card.description, most.description),
    capabilities: capabilities.size === 0 ? ['a2a'] : [...capabilities].slice(0, most.capabilities),
    supported_protocols: ['A2A/1.0'],
    ...(endpoint !== undefined && { metadata: { endpoint } }),
  }
}

function idOf(name: string): string {
  const plain = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
  if (plain.length >= 3) return plain.slice(0, 128).replace(/-+$/, '')
  return plain === '' ? 'agent' : `agent-${plain}`
}

/** Whole characters only. */
function start(text: string, length: number): string {
  return text.length <= length ? text : [...text.slice(0, length)].slice(0, -1).join('')
}
