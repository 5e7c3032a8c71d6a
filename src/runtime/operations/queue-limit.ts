import type { Clock } from '../../base/clock.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import type { CallerLog, VisibleHead } from '../caller-log.ts'
import type { OperationContext } from './context.ts'

/** Milliseconds between two looks at a task that tells much. */
const breath = 250

/** Throws unless the task can take one more message. Told by the name that its caller knows. */
export async function requireQueueSpace(
  head: VisibleHead,
  name: string,
  { settings, runs, log }: OperationContext,
): Promise<void> {
  const { taskId, contextId, phase } = head
  const { whileBusy, queueLimit, whenFull } = settings
  if (isEnded(phase)) {
    const text = `Task ${name} is ${phase} and takes no more messages: begin a new one in context ${contextId}.`
    throw new A2AError('task-ended', text)
  }
  if (whileBusy === 'reject' && !isInterrupted(phase)) {
    throw new A2AError('conflict', `Task ${name} still works on an earlier message: send this one when it rests.`)
  }
  if (whenFull === 'fail') return // Whoever works on it sees to that.
  const run = runs.get(taskId)
  const isFull = run ? run.queueLength >= queueLimit : await isFullElsewhere(head, queueLimit, log)
  if (isFull) {
    const text = `Task ${name} has ${queueLimit} messages waiting: send this one later.`
    throw new A2AError('unavailable', text, { retryAfter: 5 })
  }
}

export interface RemoteQueueEntry {
  readonly taskId: string
  /** Of the message that waits. */
  readonly generation: number
  readonly log: Pick<CallerLog, 'read' | 'head' | 'wait'>
  readonly clock: Clock
  /** Aborts when this process goes. */
  readonly signal: AbortSignal
}

/**
 * Resolves when a message for a task that is at work in another process waits no more: as its journal tells, or, where
 * none is kept, when the task rests or is gone. Never rejects.
 */
export async function waitUntilDequeued({ taskId, generation, log, clock, signal }: RemoteQueueEntry): Promise<void> {
  try {
    for (let after = generation; !signal.aborted; ) {
      const events = await log.read(taskId, after)
      if (events.some(({ event }) => isTakenUp(event, generation))) return
      after = events.at(-1)?.generation ?? after
      if (events.length > 0) continue
      if (!(await log.head(taskId))) return
      await log.wait(taskId, after, signal)
      await new Promise<void>((resolve) => {
        const timer = clock.setTimeout(resolve, breath)
        if (typeof timer === 'object') timer.unref?.()
      })
    }
  } catch {
    // Who cannot find out holds nobody up.
  }
}

/** A task at work in another process has so many messages waiting at least if nothing else was stored since. */
async function isFullElsewhere({ taskId, generation }: VisibleHead, limit: number, log: CallerLog): Promise<boolean> {
  if (generation <= limit) return false
  let waiting = 0
  for (let after = generation - limit; after < generation; ) {
    const page = await log.read(taskId, after)
    const last = page.at(-1)
    if (!last || page.some(({ event }) => event.type !== 'message')) return false
    waiting += page.length
    after = last.generation
  }
  return waiting >= limit
}

function isTakenUp(event: TaskEvent, generation: number): boolean {
  if (event.type === 'status') return isEnded(event.status.state) || isInterrupted(event.status.state)
  if (event.type !== 'journal') return event.type === 'reply'
  const { entry } = event
  if (entry.type === 'attempt') return entry.message >= generation
  return entry.type === 'rested' && entry.answered >= generation
}
