import { A2AError, taskNotFound } from '../protocol/errors.ts'
import type { Principal, TaskState } from '../protocol/model.ts'
import type { TaskAddress } from '../protocol/service.ts'
import { isTask } from '../protocol/states.ts'
import type { TaskHead, TaskLog } from '../tasks/log.ts'

export interface VisibleHead extends TaskHead {
  readonly phase: TaskState
}

/** The head of a task that this principal may know of. Everything else does not exist, in the same words. */
export async function visibleHead(log: TaskLog, address: TaskAddress, principal: Principal): Promise<VisibleHead> {
  const { taskId } = address
  const head = await findHead(log, address, principal)
  if (!head) throw taskNotFound(taskId)
  const { phase } = head
  if (phase === 'expired') throw new A2AError('task-not-found', `Task ${taskId} has ended long ago and was removed.`)
  if (!isTask(phase)) throw taskNotFound(taskId)
  return { ...head, phase }
}

/** Whatever this principal has at the address, also if it is no task yet, or no more. */
export async function findHead(
  log: TaskLog,
  { taskId, isAlias }: TaskAddress,
  principal: Principal,
): Promise<TaskHead | undefined> {
  const claimed = isAlias ? await log.claimed(principal.id, aliasKey(taskId)) : undefined
  const head = await log.head(claimed?.taskId ?? taskId)
  return head?.owner === principal.id ? head : undefined
}

/** The key under which a task is known by the id that its caller chose. */
export function aliasKey(alias: string): string {
  return `alias ${alias}`
}
