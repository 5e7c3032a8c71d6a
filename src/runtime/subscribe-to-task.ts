import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, SubscribeRequest } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import { loadFold } from '../tasks/load.ts'
import type { TaskLog } from '../tasks/log.ts'
import { streamTask } from './stream.ts'
import { visibleHead } from './visible.ts'

/** The task as of now and then every change; or, from a known generation, just what is missing. */
export async function* subscribeToTask(
  { taskId, after }: SubscribeRequest,
  call: Call,
  log: TaskLog,
): AsyncGenerator<StreamEvent, void> {
  const head = await visibleHead(log, taskId, call.principal)
  if (after !== undefined && after > head.generation) {
    throw invalidParams('Last-Event-ID', `task ${taskId} is at event ${head.generation}, and ${after} is beyond it`)
  }
  // Who missed the end may still read it; who has seen it, or never saw the beginning, gets the task instead.
  if (isEnded(head.phase) && (after === undefined || after === head.generation)) {
    throw new A2AError('task-ended', `Task ${taskId} is ${head.phase}: there is nothing to follow, get it instead.`)
  }
  const from = after ?? (await loadFold(log, head))
  for await (const event of streamTask(log, head, from, call.signal)) {
    yield event
    // It ended between the look at its head and the reading of it.
    if (event.type === 'task' && isEnded(event.task.status.state)) return
  }
}
