import type { AgentProfile } from '../agent/agent.ts'
import type { AgentImplementation } from '../agent/agent-function.ts'
import type { ResolveAgent } from '../agent/call-agent.ts'
import type { SkillProfile, SkillTypes } from '../agent/skill.ts'
import { type LocalAgent, localAgent, resolveAgentBy } from '../server/local-agent.ts'

/** Connects to called agents through the guarded `fetch`: public addresses only, unless `calls.fetch` allows others. */
export const resolveAgent = resolveAgentBy(async ({ loopback }) => {
  const { connectBy } = await import('./guarded-fetch/connect.ts')
  return connectBy(loopback)
})

/**
 * Defines an agent: a profile, and the function that does its work. Without a function, its typed skills do the work.
 *
 * On Node, the agents that it calls are reached through a `fetch` that refuses private addresses.
 *
 * @example
 * const echo = agent({ name: 'Echo' }, (turn) => `You said: ${turn.text}`)
 * await serve(echo, { port: 4000 })
 */
export function agent<const S extends readonly SkillProfile[] = readonly []>(
  profile: AgentProfile<S>,
  work?: AgentImplementation,
): LocalAgent<SkillTypes<S>> {
  return localAgent(profile, work, resolveAgent)
}

/** Connects to the agents that an agent calls by address, as every agent does on Node. */
export function reachAgents(): ResolveAgent {
  return resolveAgent
}
