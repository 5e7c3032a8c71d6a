import { defined } from '../../core/base/json.ts'
import { credentialsType, isRedactedCredentials } from '../../core/protocol/extensions/in-task-credentials.ts'
import { type Principal, textOf } from '../../core/protocol/model.ts'
import { skillOfTask } from '../../core/tasks/operator-log.ts'
import { callerOf } from '../a2a.ts'
import { type ConsoleAgent, operatorLogOf } from '../agents.ts'
import type { Rerun, TaskKey } from '../contract.ts'
import { invalid, OperatorFailure } from '../failures.ts'
import type { OperatorCall } from '../routes.ts'
import { requireTask, rerunMember } from './detail.ts'

/**
 * Sends the first message of a task again, or other parts, as a message of the operator that begins a new task. Of the
 * original, it repeats the parts and the skill: other metadata and its headers may have credentials of the caller.
 */
export async function rerun(
  agent: ConsoleAgent,
  taskId: string,
  { session }: Pick<OperatorCall, 'session'>,
  body: Rerun,
): Promise<TaskKey> {
  await requireTask(agent, taskId)
  const log = operatorLogOf(agent)
  const [first] = await log.events(taskId, 0, 1)
  if (first?.event.type !== 'message') {
    throw new OperatorFailure(409, 'unsupported-operation', 'The message that began this task is not stored.')
  }
  const { message, metadata, acceptedOutputModes } = first.event
  const repeated = message.parts.filter((part) => part.mediaType !== credentialsType && !isRedactedCredentials(part))
  const parts = body.parts ?? repeated
  if (parts.length === 0) throw invalid('parts', 'expected at least one part')
  const principal = callerOf(session)
  const sent = {
    messageId: crypto.randomUUID(),
    role: 'user' as const,
    parts,
    metadata: defined({ [rerunMember]: taskId, skillId: skillOfTask({ message, ...defined({ metadata }) }) }),
  }
  const configuration = defined({ returnImmediately: true, acceptedOutputModes })
  const outcome = await agent.agent.service.sendMessage({ message: sent, configuration }, callAs(principal))
  if (outcome.type === 'task') return { agent: agent.id, taskId: outcome.task.id }
  throw new OperatorFailure(409, 'not-a-task', `The agent answered with a message: ${textOf(outcome.message)}`)
}

/** An operation that continues if the operator closes the page. */
export function callAs(principal: Principal) {
  return { principal, signal: new AbortController().signal }
}
