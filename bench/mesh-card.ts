import type { MeshCard } from 'parley-a2a/mesh'

export function meshCard(agentId: string): MeshCard {
  return {
    agent_id: agentId,
    name: agentId,
    version: '1.0.0',
    description: 'A benchmark agent.',
    capabilities: ['prices'],
    supported_protocols: ['A2A/1.0'],
  }
}
