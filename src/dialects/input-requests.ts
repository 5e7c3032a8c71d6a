import type { StreamEvent } from '../protocol/events.ts'
import { clientTools, expandInputRequest } from '../protocol/extensions/client-tools.ts'
import type { Message, Task, TaskStatus } from '../protocol/model.ts'
import type { Outcome, ResultOf, TaskPage, UnaryOperation } from '../protocol/service.ts'

const spellings: Spelling = { sendMessage: outcome, getTask: task, cancelTask: task, listTasks: page }

export function expandInputRequestsInResult<O extends UnaryOperation>(operation: O, result: ResultOf<O>): ResultOf<O> {
  const spell: Spelling[O] = spellings[operation]
  return spell ? spell(result) : result
}

export function expandInputRequestsInEvent(event: StreamEvent): StreamEvent {
  switch (event.type) {
    case 'task':
      return hasRequest(event.task) ? { ...event, task: task(event.task) } : event
    case 'status':
      return asks(event.status.message) ? { ...event, status: status(event.status) } : event
    case 'message':
    case 'artifact':
      return event
  }
}

/** What callers are told who have not agreed on the extension for requests. Most of it is told as it is. */

type Spelling = { readonly [O in UnaryOperation]?: (result: ResultOf<O>) => ResultOf<O> }

function outcome(told: Outcome): Outcome {
  return told.type === 'task' && hasRequest(told.task) ? { ...told, task: task(told.task) } : told
}

function hasRequest({ status: { message }, history }: Task): boolean {
  return asks(message) || history.some(asks)
}

function status(told: TaskStatus): TaskStatus {
  return told.message ? { ...told, message: expandInputRequest(told.message) } : told
}

function asks(message: Message | undefined): boolean {
  return message?.metadata?.[clientTools] !== undefined
}

function task(told: Task): Task {
  if (!hasRequest(told)) return told
  return { ...told, status: status(told.status), history: told.history.map(expandInputRequest) }
}

function page(told: TaskPage): TaskPage {
  return told.tasks.some(hasRequest) ? { ...told, tasks: told.tasks.map(task) } : told
}
