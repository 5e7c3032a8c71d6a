import type { StreamEvent } from '../protocol/events.ts'
import { clientTools, toPlainQuestion } from '../protocol/extensions/client-tools.ts'
import type { Message, Task, TaskStatus } from '../protocol/model.ts'
import type { Outcome, ResultOf, TaskPage, UnaryOperation } from '../protocol/service.ts'

const plainResult: { readonly [O in UnaryOperation]?: (result: ResultOf<O>) => ResultOf<O> } = {
  sendMessage: plainOutcome,
  getTask: plainTask,
  cancelTask: plainTask,
  listTasks: plainPage,
}

/** Writes the questions in a result as plain text, for a caller that has not activated the client tools extension. */
export function plainQuestionsInResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): ResultOf<O> {
  const convert: (typeof plainResult)[O] = plainResult[operation]
  return convert ? convert(result) : result
}

/** Writes the question in an event as plain text, for a reader that has not activated the client tools extension. */
export function plainQuestionsInEvent(event: StreamEvent): StreamEvent {
  switch (event.type) {
    case 'task':
      return hasInputRequest(event.task) ? { ...event, task: plainTask(event.task) } : event
    case 'status':
      return requestsInput(event.status.message) ? { ...event, status: plainStatus(event.status) } : event
    case 'message':
    case 'artifact':
      return event
  }
}

function plainOutcome(outcome: Outcome): Outcome {
  return outcome.type === 'task' && hasInputRequest(outcome.task)
    ? { ...outcome, task: plainTask(outcome.task) }
    : outcome
}

function plainTask(task: Task): Task {
  if (!hasInputRequest(task)) return task
  return { ...task, status: plainStatus(task.status), history: task.history.map(toPlainQuestion) }
}

function plainStatus(status: TaskStatus): TaskStatus {
  return status.message ? { ...status, message: toPlainQuestion(status.message) } : status
}

function plainPage(page: TaskPage): TaskPage {
  return page.tasks.some(hasInputRequest) ? { ...page, tasks: page.tasks.map(plainTask) } : page
}

function hasInputRequest({ status: { message }, history }: Task): boolean {
  return requestsInput(message) || history.some(requestsInput)
}

function requestsInput(message: Message | undefined): boolean {
  return message?.metadata?.[clientTools] !== undefined
}
