import type { AgentProfile } from '../agent/agent.ts'
import type { SkillProfile } from '../agent/skill.ts'
import { missingGrants } from '../auth/auth.ts'
import { invalidParams } from '../protocol/errors.ts'
import { requestedSkill } from '../protocol/extensions/typed-skills.ts'
import type { Interceptor } from '../protocol/intercept.ts'
import { isAnonymous, type Principal } from '../protocol/model.ts'
import type { SendRequest } from '../protocol/service.ts'
import type { Authentication } from './authentication.ts'

/** Finds the skill that a message is for: the one that it names, or the only one of the agent. */
export function createSkillLookup(
  { settings }: Authentication,
  { skills = [] }: AgentProfile,
): (request: SendRequest) => string | undefined {
  const { skillOf = requestedSkill } = settings
  const [first, ...others] = skills
  const only = others.length === 0 ? first?.id : undefined
  return (request) => skillOf(request) ?? only
}

/** Checks the requirements of skills. Both functions throw `forbidden`. */
export interface SkillAuthorization {
  /** Requires that the principal may use the skill that the message names or, if it names none, at least one skill. */
  requireForMessage(request: SendRequest, principal: Principal): void
  /** Requires that the principal may use the skill that the task was created for, before it continues the task. */
  requireForTask(firstMessage: SendRequest, principal: Principal): void
}

/** Undefined if no skill has requirements. */
export function createSkillAuthorization(
  { auth, settings }: Authentication,
  { skills = [] }: AgentProfile,
): SkillAuthorization | undefined {
  if (!auth || skills.every(({ security = [] }) => security.length === 0)) return undefined
  const { skillOf = requestedSkill } = settings

  function requireSkill({ id, security = [] }: SkillProfile, principal: Principal): void {
    auth?.requireForSkill(id, security, principal)
  }

  /** Both the skill that the operator's `skillOf` returns and the one in the metadata, by which the agent chooses. */
  function skillsNamedBy(request: SendRequest): readonly SkillProfile[] {
    const names = new Set([skillOf(request), requestedSkill(request)])
    return skills.filter(({ id }) => names.has(id))
  }

  return {
    requireForMessage(request, principal) {
      const namedSkills = skillsNamedBy(request)
      for (const skill of namedSkills) requireSkill(skill, principal)
      if (namedSkills.length > 0) return
      const { grants = {} } = principal
      const isUsable = ({ security = [] }: SkillProfile) => missingGrants(security, grants) === undefined
      const [first] = skills
      if (first && !skills.some(isUsable)) requireSkill(first, principal)
    },
    requireForTask(firstMessage, principal) {
      for (const skill of skillsNamedBy(firstMessage)) requireSkill(skill, principal)
    },
  }
}

/** Rejects calls that the principal may not make. */
export function authorizeCalls(
  { auth, settings }: Authentication,
  skills: SkillAuthorization | undefined,
): Interceptor {
  const { anonymous } = settings
  const listsAll = typeof anonymous === 'object' && anonymous.listAll === true
  return {
    ...(skills && {
      sendMessage(request, call, next) {
        skills.requireForMessage(request, call.principal)
        return next(request, call)
      },
      async *streamMessage(request, call, next) {
        skills.requireForMessage(request, call.principal)
        yield* next(request, call)
      },
    }),
    ...(!listsAll && {
      listTasks(request, call, next) {
        if (request.contextId === undefined && isAnonymous(call.principal)) {
          throw invalidParams(
            'contextId',
            'expected the context whose tasks to list, from callers without credentials. ' +
              'To let them list all tasks, the operator sets auth: { anonymous: { listAll: true } }',
          )
        }
        return next(request, call)
      },
    }),
    ...(auth && {
      getExtendedCard(request, call, next) {
        auth.requireCredentials(call.principal)
        return next(request, call)
      },
    }),
  } satisfies Interceptor
}
