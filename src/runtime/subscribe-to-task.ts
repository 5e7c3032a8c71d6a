import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, SubscribeRequest } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'
import { loadFold } from '../tasks/load.ts'
import type { CallerLog } from './caller-log.ts'
import { streamTask } from './stream.ts'

/** The task as of now and then every change; or, from a known generation, just what is missing. */
export async function* subscribeToTask(
  request: SubscribeRequest,
  call: Call,
  log: CallerLog,
): AsyncGenerator<StreamEvent, void> {
  const { after, tellEnded, endOnAuth, holdOnInput } = request
  const head = await log.task(request)
  const { phase, generation } = head
  if (after !== undefined && after > generation) {
    throw invalidParams('Last-Event-ID', `task ${request.taskId} is at event ${generation}, and ${after} is beyond it`)
  }
  // Who missed the end may still read it; who has seen it, or never saw the beginning, gets the task instead.
  if (isEnded(phase) && !tellEnded && (after === undefined || after === generation)) {
    throw new A2AError('task-ended', `Task ${request.taskId} is ${phase}: there is nothing to follow, get it instead.`)
  }
  const seen = after === generation && isEnded(phase) ? undefined : after
  const options = { signal: call.signal, endOnAuth, holdOnInput }
  yield* streamTask(log, head, seen ?? (await loadFold(log, head)), options)
}
