import { type Agent, type AgentProfile, agent as defineAgent, type SkillProfile } from './agent/agent.ts'
import type { SkillTypes } from './agent/skill.ts'
import type { Work } from './agent/work.ts'
import type { SkillMap } from './protocol/skills.ts'
import { reach } from './reach.ts'
import { createHandler, type Handler } from './server/handler.ts'

/**
 * An agent that can be talked to in this process, as by `connect(agent)`: it speaks `fetch`. Its tasks are in memory;
 * `serve` and `createHandler` give it another log, and everything else that can be chosen.
 */
export interface LocalAgent<Skills extends SkillMap = SkillMap> extends Agent<Skills> {
  readonly fetch: Handler['fetch']
}

export function agent<const S extends readonly SkillProfile[] = readonly []>(
  profile: AgentProfile<S>,
  work?: Work,
): LocalAgent<SkillTypes<S>> {
  const defined = { ...defineAgent(profile, work), reach }
  let handler: Handler | undefined
  return {
    ...defined,
    fetch(request) {
      // Whoever talks to it meets the same tasks, and who never does pays for none.
      handler ??= createHandler(defined, { auth: { anonymous: { listAll: true } } })
      return handler.fetch(request)
    },
  }
}
