import { invalidParams } from '../protocol/errors.ts'
import type { Principal } from '../protocol/model.ts'
import { isAnonymous } from '../protocol/owner.ts'
import type { ListTasksRequest, Service } from '../protocol/service.ts'
import type { Admission } from './admission.ts'
import type { SkillGuard } from './skill-guard.ts'

/** A service that lets callers do only what they may. Operations that everybody may do are those of the service. */
export function guarded(service: Service, { auth, settings }: Admission, skills: SkillGuard | undefined): Service {
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
