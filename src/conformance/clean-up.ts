import { isObject, type JsonObject } from '../core/base/json.ts'
import { eventState, eventTaskId, isTerminal, type State, sentTask, taskAnswer } from './answers.ts'
import { type Operation, pushReference } from './requests.ts'
import type { OpenStream, StreamEvent, Wire, WireExchange } from './wire.ts'

/** Tasks and webhooks that are remembered. A run starts some dozens. */
const maxKept = 500

/** A wire that remembers what its requests leave behind at the agent. */
export interface CleaningWire extends Wire {
  /** Cancels the tasks that were started and have not ended, and removes the webhooks that were registered. */
  cleanUp(): Promise<void>
}

/** `cleaner` speaks to the same interface, also after the run was aborted. */
export function cleaningUp(wire: Wire, cleaner: Wire): CleaningWire {
  const { target } = wire
  const tasks = new Set<string>()
  const webhooks = new Map<string, JsonObject>()

  function noteTask(id: unknown, state: State | undefined): void {
    if (typeof id !== 'string') return
    if (isTerminal(state)) tasks.delete(id)
    else if (tasks.size < maxKept) tasks.add(id)
  }

  function noteAnswer(operation: Operation, params: JsonObject, answer: WireExchange): void {
    if (answer.isError) return
    if (operation === 'send' || operation === 'stream') {
      const task = sentTask(answer, target)
      if (task) noteTask(task.id, task.state)
    }
    if (operation === 'cancel' && isObject(answer.result)) {
      const task = taskAnswer(answer.result, target)
      if (task && isTerminal(task.state)) tasks.delete(task.id)
    }
    if (operation === 'push-create' && webhooks.size < maxKept) {
      const { taskId, id, pushNotificationConfig: config } = params
      const reference = pushReference(`${taskId ?? id}`, `${isObject(config) ? config.id : id}`, target)
      webhooks.set(JSON.stringify(reference), reference)
    }
    if (operation === 'push-delete') webhooks.delete(JSON.stringify(params))
  }

  function noteEvent(event: StreamEvent | undefined): void {
    if (!event) return
    const state = eventState(event, target)
    if (state !== undefined) noteTask(eventTaskId(event, target), state)
  }

  function noting(stream: OpenStream, isSend: boolean): OpenStream {
    if (!isSend) return stream
    return {
      ...stream,
      async next() {
        const event = await stream.next()
        noteEvent(event)
        return event
      },
      async rest() {
        const events = await stream.rest()
        events.forEach(noteEvent)
        return events
      },
    }
  }

  return {
    ...wire,
    async call(operation, params, changes) {
      const answer = await wire.call(operation, params, changes)
      noteAnswer(operation, params, answer)
      return answer
    },
    async open(operation, params, changes) {
      const stream = await wire.open(operation, params, changes)
      if (!stream.isStream) noteAnswer(operation, params, stream.exchange)
      return noting(stream, operation === 'stream')
    },
    async cleanUp() {
      const removals = [...webhooks.values()].map((reference) => cleaner.call('push-delete', reference))
      await Promise.allSettled(removals)
      await Promise.allSettled([...tasks].map((id) => cleaner.call('cancel', { id })))
      webhooks.clear()
      tasks.clear()
    },
  }
}
