import { computed, signal } from '@preact/signals'
import type { AgentSummary } from 'parley-a2a/operator'
import { operator } from './operator.ts'

export type AgentsState =
  | { readonly type: 'loading' }
  | { readonly type: 'ready'; readonly agents: readonly AgentSummary[] }
  | { readonly type: 'failed'; readonly error: unknown }

export const agentsState = signal<AgentsState>({ type: 'loading' })

/** Whether the server is known to serve no agents, as a registry. */
export const hasNoAgents = computed(() => agentsState.value.type === 'ready' && agentsState.value.agents.length === 0)

export const agents = computed(() => (agentsState.value.type === 'ready' ? agentsState.value.agents : []))

const storageKey = 'parley.agent'

/** The id of the agent that the pages of one agent show. */
const selectedAgentId = signal(sessionStorage.getItem(storageKey) ?? '')

/** The selected agent, or the first one if it is gone. */
export const selectedAgent = computed(
  () => agents.value.find(({ id }) => id === selectedAgentId.value) ?? agents.value[0],
)

export function selectAgent(id: string): void {
  selectedAgentId.value = id
  sessionStorage.setItem(storageKey, id)
}

export async function loadAgents(): Promise<void> {
  try {
    agentsState.value = { type: 'ready', agents: (await operator.agents()).agents }
  } catch (error) {
    if (agentsState.value.type !== 'ready') agentsState.value = { type: 'failed', error }
  }
}

/** Whether another server serves the agent, so that only its card and its answers are known. */
export function isForeign(id: string): boolean {
  return agents.value.find((agent) => agent.id === id)?.foreign !== undefined
}

/** The name of an agent for people. */
export function agentName(id: string): string {
  return agents.value.find((agent) => agent.id === id)?.name ?? id
}
