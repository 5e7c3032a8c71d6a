import type { Operation } from '../../src/conformance/requests.ts'
import { completedLike, isUnknownTask, onAnswer, succeed, workingLike } from './fault-changes.ts'
import type { Call, Fault, Json } from './faulty-agent.ts'

/** Faults of the rules about streams. */
export function streamFaults(): Record<string, Fault> {
  const resultIn = (event: Json, { isRpc }: Call) => (isRpc ? event.result : event)
  const events = (operation: Operation, change: NonNullable<Fault['event']>): Fault => ({
    event: (event, index, call) => (call.operation === operation ? change(event, index, call) : [event]),
  })
  const stateIn = (result: Json) => (result.statusUpdate ?? result.task ?? result).status?.state
  let subscriptions = 0
  return {
    // A stream that goes on would be read as text until the request times out.
    'stream/opens': onAnswer('stream', ({ headers }, { params }) => {
      if (!/"wait"/.test(JSON.stringify(params))) headers.set('content-type', 'text/plain')
    }),
    'stream/first-event': events('stream', (event, index, call) =>
      index === 0 && resultIn(event, call).task ? [] : [event],
    ),
    'stream/event-types': events('stream', (event, index, { isRpc }) =>
      index === 1 ? [event, isRpc ? { ...event, result: {} } : {}] : [event],
    ),
    'stream/one-task': events('stream', (event, index, call) => {
      const result = resultIn(event, call)
      const body = result.statusUpdate ?? result.artifactUpdate ?? result
      if (index > 0 && 'taskId' in body) body.taskId = 'another'
      else if (index > 0) body.id = 'another'
      return [event]
    }),
    'stream/ends': events('stream', (event, index, call) =>
      index > 0 && /completed/i.test(stateIn(resultIn(event, call)) ?? '') ? [] : [event],
    ),
    'stream/complete': events('stream', (event, _, call) => {
      const result = resultIn(event, call)
      return (result.artifactUpdate ?? result).append ? [] : [event]
    }),
    'stream/immediate': events('stream', (event, index, call) => {
      const { parts, content = parts } = call.params.message
      const result = resultIn(event, call)
      const { status } = result.task ?? result.statusUpdate ?? result
      if (index === 0 && content[0].text === 'wait' && status) status.state = completedLike(status.state)
      return [event]
    }),
    'stream/final': events('stream', (event, _, call) => {
      resultIn(event, call).final = false
      return [event]
    }),
    'stream/message': events('stream', (event, _, call) => {
      const { message, kind } = resultIn(event, call)
      return message || kind === 'message' ? [event, event] : [event]
    }),
    'stream/envelope': events('stream', (event) => [{ ...event, id: 'another' }]),
    'stream/unsupported': { ...succeed('stream'), agent: 'plain' },
    'subscribe/first-event': events('subscribe', (event, index, call) => {
      const result = resultIn(event, call)
      if (index > 0 || !result.task) return [event]
      const { id: taskId, contextId, status } = result.task
      const statusUpdate = { taskId, contextId, status }
      return [call.isRpc ? { ...event, result: { statusUpdate } } : { statusUpdate }]
    }),
    'subscribe/ends': events('subscribe', (event, index, call) => {
      const result = resultIn(event, call)
      const { status } = result.statusUpdate ?? result
      if (index > 0 && status) status.state = workingLike(status.state)
      return [event]
    }),
    'subscribe/all-streams': events('subscribe', (event, index, call) => {
      if (index === 0) subscriptions += 1
      const { statusUpdate } = resultIn(event, call)
      if (statusUpdate) statusUpdate.metadata = { number: `${Math.random()} ${subscriptions}` }
      return [event]
    }),
    'subscribe/terminal': succeed('subscribe', (call) => !isUnknownTask(call)),
    'subscribe/unknown': succeed('subscribe', isUnknownTask),
  }
}
