import { delayAfter } from '../../base/backoff.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import type { Call, Service } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import type { StreamPosition } from './stream-position.ts'

/** Milliseconds without an event after which the client gets the task. */
const quietDelays = { minDelay: 10_000, maxDelay: 120_000 }

/** Milliseconds in which a stream may send its last event after the client has canceled its task. */
const cancelGrace = 250

export type Open = (signal: AbortSignal) => AsyncGenerator<StreamEvent>

/** The streams of a client, which are informed about tasks that it has canceled. */
export type CancelListeners = Set<(taskId: string) => void>

export interface EndWithTaskOptions {
  readonly service: Service
  readonly call: Call
  readonly position: Pick<StreamPosition, 'taskId' | 'generation'>
  readonly cancelListeners: CancelListeners
  readonly clock: Clock
}

/**
 * Emits the events of a stream, and its end once the task has ended: servers of the Python SDK before 1.0 keep a stream
 * open, without its last event, if the task was canceled or its agent has failed. Streams with numbered events need no
 * check: their agents send the last one.
 */
export async function* endWithTask(open: Open, options: EndWithTaskOptions): AsyncGenerator<StreamEvent> {
  const { service, call, position, cancelListeners, clock } = options
  const stream = forwardAbort(call.signal)
  const events = open(stream.signal)
  const quiet = createQuietTimer(clock)
  const onCancel = (taskId: string) => {
    if (taskId === position.taskId) quiet.startWith(cancelGrace)
  }
  cancelListeners.add(onCancel)
  let next: Promise<IteratorResult<StreamEvent, void>> | undefined
  try {
    for (let checks = 0; ; ) {
      next ??= events.next()
      const { taskId } = position
      const isChecked = taskId !== undefined && position.generation === undefined
      const result = isChecked ? await Promise.race([next, quiet.wait(checks)]) : await next
      quiet.stop()
      if (result !== 'quiet') {
        next = undefined
        checks = 0
        if (result.done) return
        yield result.value
        continue
      }
      checks++
      const task = taskId === undefined ? undefined : await taskIfEnded(service, taskId, call)
      if (task) return yield lastStatusOf(task)
    }
  } finally {
    cancelListeners.delete(onCancel)
    quiet.stop()
    stream.abort()
    const closing = events.return(undefined)
    // A stream whose next event is still awaited closes when it notices that it was aborted.
    if (next) closing.catch(() => {})
    else await closing
  }
}

/** Undefined if the task has not ended, or if it cannot be read: the stream may still work. */
async function taskIfEnded(service: Service, taskId: string, call: Call): Promise<Task | undefined> {
  try {
    const task = await service.getTask({ taskId }, call)
    return isEnded(task.status.state) ? task : undefined
  } catch (error) {
    if (error instanceof A2AError) return undefined
    throw error
  }
}

/** The stream has emitted everything before it. */
function lastStatusOf({ id, contextId, status, generation }: Task): StreamEvent {
  return { type: 'status', taskId: id, contextId, status, generation, isLast: true }
}

/** A signal that aborts with another one, or by itself. */
export function forwardAbort(source: AbortSignal) {
  const controller = new AbortController()
  const forward = () => controller.abort(source.reason)
  if (source.aborted) forward()
  source.addEventListener('abort', forward)
  return {
    signal: controller.signal,
    abort() {
      source.removeEventListener('abort', forward)
      controller.abort('released')
    },
  }
}

/** Resolves when nothing was received for a while. */
function createQuietTimer(clock: Clock) {
  let timer: Timer | undefined
  let resolve: (() => void) | undefined
  const start = (milliseconds: number) => {
    clock.clearTimeout(timer)
    timer = clock.setTimeout(() => resolve?.(), milliseconds)
  }
  let urgent: number | undefined
  return {
    /** `checks` is how often the timer has fired since the last event. */
    wait(checks: number): Promise<'quiet'> {
      start(urgent ?? delayAfter(checks + 1, quietDelays))
      return new Promise((settle) => {
        resolve = () => {
          urgent = undefined
          settle('quiet')
        }
      })
    },
    /** Fires after this time instead, now and after further events, until it has fired. */
    startWith(milliseconds: number): void {
      urgent = milliseconds
      if (resolve) start(milliseconds)
    },
    stop(): void {
      clock.clearTimeout(timer)
      resolve = undefined
    },
  }
}
