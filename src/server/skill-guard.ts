import type { AgentProfile, SkillProfile } from '../agent/agent.ts'
import { gapOf } from '../auth/requirements.ts'
import type { Principal } from '../protocol/model.ts'
import type { SendRequest } from '../protocol/service.ts'
import { namedSkill } from '../protocol/skills.ts'
import type { Admission } from './admission.ts'

/** Says who may use which skill, by throwing `forbidden`. */
export interface SkillGuard {
  /** For a message, whatever it is for. */
  require(request: SendRequest, principal: Principal): void
  /** For one that goes on with a task: what that was begun for is what it is used for. */
  requireOpening(opening: SendRequest, principal: Principal): void
}

/** Which skill a message is for: the one that it names, or the only one there is. */
export function skillNamer(
  { settings }: Admission,
  { skills = [] }: AgentProfile,
): (request: SendRequest) => string | undefined {
  const { skillOf = namedSkill } = settings
  const [first, ...others] = skills
  const only = others.length === 0 ? first?.id : undefined
  return (request) => skillOf(request) ?? only
}

/** Undefined if nothing is asked for any of the skills. */
export function createSkillGuard({ auth, settings }: Admission, { skills = [] }: AgentProfile): SkillGuard | undefined {
  if (!auth || skills.every(({ security = [] }) => security.length === 0)) return undefined
  const { skillOf = namedSkill } = settings

  function requireFor({ id, security = [] }: SkillProfile, principal: Principal): void {
    auth?.requireFor(id, security, principal)
  }

  /** What the operator takes it for, and what the agent will, which goes by the metadata. */
  function meantBy(request: SendRequest): readonly SkillProfile[] {
    const named = new Set([skillOf(request), namedSkill(request)])
    return skills.filter(({ id }) => named.has(id))
  }

  return {
    require(request, principal) {
      const meant = meantBy(request)
      for (const skill of meant) requireFor(skill, principal)
      if (meant.length > 0) return
      // Who names none must be able to use some.
      const { grants = {} } = principal
      const [first] = skills
      const isUsable = ({ security = [] }: SkillProfile) => gapOf(security, grants) === undefined
      if (first && !skills.some(isUsable)) requireFor(first, principal)
    },
    requireOpening(opening, principal) {
      for (const skill of meantBy(opening)) requireFor(skill, principal)
    },
  }
}
