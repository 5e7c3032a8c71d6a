import { A2AError, taskNotFound } from '../protocol/errors.ts'
import type { Principal } from '../protocol/model.ts'
import { isTask } from '../protocol/states.ts'
import type { TaskHead, TaskLog } from '../tasks/log.ts'

/** The head of a task that this principal may know of. Everything else does not exist, in the same words. */
export async function visibleHead(log: TaskLog, taskId: string, principal: Principal): Promise<VisibleHead> {
  const head = await log.head(taskId)
  if (!head || head.owner !== principal.id) throw taskNotFound(taskId)
  const { phase } = head
  if (phase === 'expired') throw new A2AError('task-not-found', `Task ${taskId} has ended long ago and was removed.`)
  if (!isTask(phase)) throw taskNotFound(taskId)
  return { ...head, phase }
}

export interface VisibleHead extends TaskHead {
  readonly phase: Exclude<TaskHead['phase'], 'expired' | 'received' | 'answered'>
}
