import type { StreamEvent } from '../protocol/events.ts'
import type { Call, SendRequest } from '../protocol/service.ts'
import { type Acceptance, accept } from './accept.ts'
import { limitHistory } from './present.ts'
import { foldUntil, streamTask } from './stream.ts'

/** Stores a message and tells everything that comes of it. Whoever stops reading stops nothing else. */
export async function* streamMessage(
  request: SendRequest,
  call: Call,
  house: Acceptance,
): AsyncGenerator<StreamEvent, void> {
  const { log } = house.settings
  const { task, generation } = await accept(request, call, house)
  // A repeated send that has seen the beginning goes on where it was cut.
  const from = request.after !== undefined && request.after >= generation ? request.after : undefined
  const events = streamTask(log, task, from ?? (await foldUntil(log, task, generation)), call.signal)
  const historyLength = request.configuration?.historyLength
  for await (const event of events) {
    yield event.type === 'task' ? { ...event, task: limitHistory(event.task, historyLength) } : event
  }
}
