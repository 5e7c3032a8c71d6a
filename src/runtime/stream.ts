import type { StreamEvent } from '../protocol/events.ts'
import type { Task, TaskState } from '../protocol/model.ts'
import { isEnded } from '../protocol/states.ts'
import type { Fold } from '../tasks/fold.ts'
import { followPages } from '../tasks/follow.ts'
import type { FoldedLog } from '../tasks/load.ts'
import type { NewTask } from '../tasks/log.ts'

export interface StreamOptions {
  readonly signal: AbortSignal
  /** As callers of 0.1 expect, who know no such state. */
  readonly endOnAuth?: boolean
  /** As callers of the 0.3 house variant expect, if they answer in another request. */
  readonly holdOnInput?: boolean
}

/**
 * What a reader of a task sees. From a fold: the task as soon as there is one, then every change. From a generation
 * that the reader has seen already: every change after it. It closes when the task has ended or waits for its caller;
 * an exchange that the agent answers with a message is that one message.
 */
export async function* streamTask(
  log: FoldedLog,
  task: NewTask,
  from: Fold | number,
  options: StreamOptions,
): AsyncGenerator<StreamEvent, void> {
  const { taskId, contextId } = task
  const after = typeof from === 'number' ? from : from.generation
  /** Grows until the task can be told, and is let go then: a reader keeps no artifacts. */
  let untold = typeof from === 'number' ? undefined : from
  /** The last that was told, unknown before the first. */
  let told: number | undefined
  const known = untold?.task()
  if (known) {
    const isLast = isEnded(known.status.state)
    yield { type: 'task', task: known, isLast, follows: after }
    told = after
    if (isLast) return
    untold = undefined
  }
  for await (const page of followPages(log, taskId, after, options.signal)) {
    for (const stored of page) {
      const { generation, event } = stored
      if (event.type === 'reply') return yield { type: 'message', message: event.message, isLast: true }
      const isLast = event.type === 'status' && closesStream(event.status.state, options)
      untold?.apply(stored)
      const begun: Task | undefined = untold?.task()
      if (begun) {
        yield { type: 'task', task: begun, isLast, follows: after }
        untold = undefined
        told = generation
      } else if (event.type === 'status' || event.type === 'artifact') {
        // Callers' messages and wishes are events of the log, but none that A2A tells in a stream.
        const follows = told !== undefined && generation === told + 1 ? undefined : (told ?? after)
        yield { ...event, taskId, contextId, generation, follows, isLast }
        told = generation
      }
      if (isLast) return
    }
  }
}

/** A task that waits for credentials goes on by itself when they come; one that waits for input does not. */
function closesStream(state: TaskState, { endOnAuth, holdOnInput }: StreamOptions): boolean {
  if (state === 'input-required') return !holdOnInput
  return isEnded(state) || (endOnAuth === true && state === 'auth-required')
}
