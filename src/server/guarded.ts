import type { AgentProfile, SkillProfile } from '../agent/agent.ts'
import { gapOf } from '../auth/requirements.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Principal } from '../protocol/model.ts'
import { isAnonymous } from '../protocol/owner.ts'
import type { ListTasksRequest, SendRequest, Service } from '../protocol/service.ts'
import { namedSkill } from '../protocol/skills.ts'
import type { Admission } from './admission.ts'

/** A service that lets callers do only what they may. Operations that everybody may do are those of the service. */
export function guarded(service: Service, { auth, settings }: Admission, { skills = [] }: AgentProfile): Service {
  const { anonymous, skillOf = namedSkill } = settings
  const listsAll = typeof anonymous === 'object' && anonymous.listAll === true
  const isRestricted = skills.some(({ security = [] }) => security.length > 0)

  function requireSkill(request: SendRequest, principal: Principal): void {
    const named = skillOf(request)
    const { grants = {} } = principal
    const isUsable = ({ security = [] }: SkillProfile) => gapOf(security, grants) === undefined
    // Who names none must be able to use some.
    const skill = skills.find(({ id }) => id === named) ?? skills.find(isUsable) ?? skills[0]
    if (skill) auth?.requireFor(skill.id, skill.security ?? [], principal)
  }

  function requireContext({ contextId }: ListTasksRequest, principal: Principal): void {
    if (contextId !== undefined || listsAll || !isAnonymous(principal)) return
    throw invalidParams('contextId', 'expected the context whose tasks to list, from callers without credentials')
  }

  return {
    ...service,
    ...(auth &&
      isRestricted && {
        async sendMessage(request, call) {
          requireSkill(request, call.principal)
          return await service.sendMessage(request, call)
        },
        async *streamMessage(request, call) {
          requireSkill(request, call.principal)
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
