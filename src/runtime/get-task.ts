import { taskNotFound } from '../protocol/errors.ts'
import type { Task } from '../protocol/model.ts'
import type { GetTaskRequest } from '../protocol/service.ts'
import { loadFold } from '../tasks/load.ts'
import type { CallerLog } from './caller-log.ts'
import { limitHistory } from './present.ts'

export async function getTask(request: GetTaskRequest, log: CallerLog): Promise<Task> {
  const head = await log.task(request)
  const task = (await loadFold(log, head)).task()
  if (!task) throw taskNotFound(request.taskId) // it was removed while we read
  return limitHistory(task, request.historyLength)
}
