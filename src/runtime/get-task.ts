import { taskNotFound } from '../protocol/errors.ts'
import type { Task } from '../protocol/model.ts'
import type { Call, GetTaskRequest } from '../protocol/service.ts'
import { loadFold } from '../tasks/load.ts'
import type { TaskLog } from '../tasks/log.ts'
import { limitHistory } from './present.ts'
import { visibleHead } from './visible.ts'

export async function getTask(request: GetTaskRequest, call: Call, log: TaskLog): Promise<Task> {
  const head = await visibleHead(log, request, call.principal)
  const task = (await loadFold(log, head)).task()
  if (!task) throw taskNotFound(request.taskId) // it was removed while we read
  return limitHistory(task, request.historyLength)
}
