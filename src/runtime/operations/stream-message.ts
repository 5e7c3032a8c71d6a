import { A2AError, invalidParams } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task, TaskState } from '../../protocol/model.ts'
import type { Call, SendRequest, SubscribeRequest } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import { type Fold, type FoldedLog, foldUntil, loadFold } from '../../tasks/fold.ts'
import { followPages } from '../../tasks/follow.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { CallerLog } from '../caller-log.ts'
import { acceptMessage } from './accept-message.ts'
import { cancelAbandoned } from './cancel-task.ts'
import type { OperationContext } from './context.ts'
import { limitHistory } from './read-tasks.ts'

/**
 * Stores a message and tells everything that comes of it. Whoever stops reading stops nothing else, unless it was asked
 * for: then `left` tells of a reader who has gone.
 */
export async function* streamMessage(
  request: SendRequest,
  call: Call,
  house: OperationContext,
  left: AbortSignal = call.signal,
): AsyncGenerator<StreamEvent, void> {
  const { log } = house
  const { task, generation, isRepeated } = await acceptMessage(request, call, house)
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

/** The task as of now and then every change; or, from a known generation, just what is missing. */
export async function* subscribeToTask(
  request: SubscribeRequest,
  call: Call,
  log: CallerLog,
): AsyncGenerator<StreamEvent, void> {
  const { after, includeEnded, endOnAuth, holdOnInput } = request
  const head = await log.task(request)
  const { phase, generation } = head
  if (after !== undefined && after > generation) {
    throw invalidParams('Last-Event-ID', `task ${request.taskId} is at event ${generation}, and ${after} is beyond it`)
  }
  // Who missed the end may still read it; who has seen it, or never saw the beginning, gets the task instead.
  if (isEnded(phase) && !includeEnded && (after === undefined || after === generation)) {
    throw new A2AError('task-ended', `Task ${request.taskId} is ${phase}: there is nothing to follow, get it instead.`)
  }
  const seen = after === generation && isEnded(phase) ? undefined : after
  const options = { signal: call.signal, endOnAuth, holdOnInput }
  yield* streamTask(log, head, seen ?? (await loadFold(log, head)), options)
}

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
