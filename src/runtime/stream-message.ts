import type { StreamEvent } from '../protocol/events.ts'
import type { Call, SendRequest } from '../protocol/service.ts'
import { foldUntil } from '../tasks/load.ts'
import { accept } from './accept.ts'
import type { Acceptance } from './acceptance.ts'
import { cancelAbandoned } from './cancel-task.ts'
import { limitHistory } from './present.ts'
import { streamTask } from './stream.ts'
import { subscribeToTask } from './subscribe-to-task.ts'

/**
 * Stores a message and tells everything that comes of it. Whoever stops reading stops nothing else, unless it was asked
 * for: then `left` tells of a reader who has gone.
 */
export async function* streamMessage(
  request: SendRequest,
  call: Call,
  house: Acceptance,
  left: AbortSignal = call.signal,
): AsyncGenerator<StreamEvent, void> {
  const { log } = house
  const { task, generation, isRepeated } = await accept(request, call, house)
  const { after, endOnAuth, holdOnInput } = request
  let isOver = false
  try {
    // A repeated send that has seen the beginning goes on where it was cut. A new one cannot have seen anything.
    if (isRepeated && after !== undefined && after >= generation) {
      const rest = subscribeToTask({ taskId: task.taskId, after, endOnAuth, holdOnInput }, call, log)
      for await (const event of rest) {
        isOver = event.isLast === true
        yield event
      }
      return
    }
    const historyLength = request.configuration?.historyLength
    const options = { signal: call.signal, endOnAuth, holdOnInput }
    for await (const event of streamTask(log, task, await foldUntil(log, task, generation), options)) {
      isOver = event.isLast === true
      yield event.type === 'task' ? { ...event, task: limitHistory(event.task, historyLength) } : event
    }
  } finally {
    if (request.cancelOnDisconnect && left.aborted && !isOver) await cancelAbandoned(task, house)
  }
}
