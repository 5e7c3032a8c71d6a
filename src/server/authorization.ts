import type { AgentProfile, SkillProfile } from '../agent/agent.ts'
import { gapOf } from '../auth/auth.ts'
import { invalidParams } from '../protocol/errors.ts'
import { requestedSkill } from '../protocol/extensions/typed-skills.ts'
import type { Principal } from '../protocol/model.ts'
import { isAnonymous } from '../protocol/principal.ts'
import type { ListTasksRequest, SendRequest, Service } from '../protocol/service.ts'
import type { Authentication } from './authentication.ts'

/** Which skill a message is for: the one that it names, or the only one there is. */
export function skillNamer(
  { settings }: Authentication,
  { skills = [] }: AgentProfile,
): (request: SendRequest) => string | undefined {
  const { skillOf = requestedSkill } = settings
  const [first, ...others] = skills
  const only = others.length === 0 ? first?.id : undefined
  return (request) => skillOf(request) ?? only
}

/** Says who may use which skill, by throwing `forbidden`. */
export interface SkillGuard {
  /** For a message, whatever it is for. */
  require(request: SendRequest, principal: Principal): void
  /** For one that goes on with a task: what that was begun for is what it is used for. */
  requireOpening(opening: SendRequest, principal: Principal): void
}

/** Undefined if nothing is asked for any of the skills. */
export function createSkillGuard(
  { auth, settings }: Authentication,
  { skills = [] }: AgentProfile,
): SkillGuard | undefined {
  if (!auth || skills.every(({ security = [] }) => security.length === 0)) return undefined
  const { skillOf = requestedSkill } = settings

  function requireFor({ id, security = [] }: SkillProfile, principal: Principal): void {
    auth?.requireFor(id, security, principal)
  }

  /** What the operator takes it for, and what the agent will, which goes by the metadata. */
  function meantBy(request: SendRequest): readonly SkillProfile[] {
    const named = new Set([skillOf(request), requestedSkill(request)])
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

/** A service that lets callers do only what they may. Operations that everybody may do are those of the service. */
export function authorizeService(
  service: Service,
  { auth, settings }: Authentication,
  skills: SkillGuard | undefined,
): Service {
  const { anonymous } = settings
  const listsAll = typeof anonymous === 'object' && anonymous.listAll === true

  function requireContext({ contextId }: ListTasksRequest, principal: Principal): void {
    if (contextId !== undefined || listsAll || !isAnonymous(principal)) return
    throw invalidParams('contextId', 'expected the context whose tasks to list, from callers without credentials')
  }

  return {
    ...service,
    ...(skills && {
      async sendMessage(request, call) {
        skills.require(request, call.principal)
        return await service.sendMessage(request, call)
      },
      async *streamMessage(request, call) {
        skills.require(request, call.principal)
        yield* service.streamMessage(request, call)
      },
    }),
    ...(!listsAll && {
      async listTasks(request, call) {
        requireContext(request, call.principal)
        return await service.listTasks(request, call)
      },
    }),
    ...(auth && {
      async getExtendedCard(request, call) {
        auth.requireSomebody(call.principal)
        return await service.getExtendedCard(request, call)
      },
    }),
  } satisfies Service
}
