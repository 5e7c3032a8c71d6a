import { withDeadline } from '../http/deadline.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Outcome, SendRequest, Service } from '../protocol/service.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'

/**
 * Sends a message and waits until its task rests, but not for longer than so many milliseconds: then the answer is the
 * task as it is. A stream tells early which task it is, wherever the agent is.
 */
export async function sendWithin(
  service: Service,
  request: SendRequest,
  call: Call,
  patience: number,
): Promise<Outcome> {
  const { configuration, tenant } = request
  if (configuration?.returnImmediately) return await service.sendMessage(request, call)
  let { taskId } = request.message
  const { signal, release } = withDeadline(call.signal, patience, () => new Error('The patience is over.'))
  try {
    for await (const event of service.streamMessage({ ...request, endOnAuth: true }, { ...call, signal })) {
      if (event.type === 'message') return { type: 'message', message: event.message }
      taskId = event.type === 'task' ? event.task.id : event.taskId
      if (rests(event)) break
    }
  } catch (error) {
    // Who stops waiting may be told so by an error.
    if (!signal.aborted || call.signal.aborted) throw error
  } finally {
    release()
  }
  if (taskId === undefined) {
    throw new A2AError('timeout', `The agent said nothing within ${patience / 1000} seconds.`)
  }
  const historyLength = configuration?.historyLength
  return { type: 'task', task: await service.getTask({ taskId, historyLength, tenant }, call) }
}

function rests(event: Exclude<StreamEvent, { type: 'message' }>): boolean {
  if (event.type === 'artifact') return false
  const { state } = event.type === 'task' ? event.task.status : event.status
  return isEnded(state) || isInterrupted(state)
}
