import type { AgentProfile } from '../../core/agent/agent.ts'
import type { AgentImplementation } from '../../core/agent/agent-function.ts'
import type { SkillProfile, SkillTypes } from '../../core/agent/skill.ts'
import { type LocalAgent, localAgent } from '../../core/server/local-agent.ts'

/**
 * Defines an agent: a profile, and the function that does its work. Without a function, its typed skills do the work.
 *
 * In a Worker, an agent that calls others by their address needs `calls.reach`, so that other Workers come without the client.
 */
export function agent<const S extends readonly SkillProfile[] = readonly []>(
  profile: AgentProfile<S>,
  work?: AgentImplementation,
): LocalAgent<SkillTypes<S>> {
  return localAgent(profile, work)
}
