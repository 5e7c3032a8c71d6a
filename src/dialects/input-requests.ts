import type { StreamEvent } from '../protocol/events.ts'
import { clientTools, expandInputRequest } from '../protocol/extensions/client-tools.ts'
import type { Message, Task, TaskStatus } from '../protocol/model.ts'
import type { Outcome, ResultOf, TaskPage, UnaryOperation } from '../protocol/service.ts'

const expandResult: { readonly [O in UnaryOperation]?: (result: ResultOf<O>) => ResultOf<O> } = {
  sendMessage: expandOutcome,
  getTask: expandTask,
  cancelTask: expandTask,
  listTasks: expandPage,
}

/** Rewrites the input requests in a result for a caller that has not activated the client tools extension. */
export function expandInputRequestsInResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): ResultOf<O> {
  const expand: (typeof expandResult)[O] = expandResult[operation]
  return expand ? expand(result) : result
}

/** Rewrites the input requests in an event for a reader that has not activated the client tools extension. */
export function expandInputRequestsInEvent(event: StreamEvent): StreamEvent {
  switch (event.type) {
    case 'task':
      return hasInputRequest(event.task) ? { ...event, task: expandTask(event.task) } : event
    case 'status':
      return requestsInput(event.status.message) ? { ...event, status: expandStatus(event.status) } : event
    case 'message':
    case 'artifact':
      return event
  }
}

function expandOutcome(outcome: Outcome): Outcome {
  return outcome.type === 'task' && hasInputRequest(outcome.task)
    ? { ...outcome, task: expandTask(outcome.task) }
    : outcome
}

function expandTask(task: Task): Task {
  if (!hasInputRequest(task)) return task
  return { ...task, status: expandStatus(task.status), history: task.history.map(expandInputRequest) }
}

function expandStatus(status: TaskStatus): TaskStatus {
  return status.message ? { ...status, message: expandInputRequest(status.message) } : status
}

function expandPage(page: TaskPage): TaskPage {
  return page.tasks.some(hasInputRequest) ? { ...page, tasks: page.tasks.map(expandTask) } : page
}

function hasInputRequest({ status: { message }, history }: Task): boolean {
  return requestsInput(message) || history.some(requestsInput)
}

function requestsInput(message: Message | undefined): boolean {
  return message?.metadata?.[clientTools] !== undefined
}
