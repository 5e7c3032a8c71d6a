import type { Clock } from '../../base/clock.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import { hasNoEvents } from '../../tasks/follow.ts'
import type { CallerLog, OperationContext, VisibleHead } from '../caller-log.ts'

/** Milliseconds between two reads of a task with many events. */
const readInterval = 250

/** Throws unless the task can take one more message. Errors use `name` for the task. */
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
  if (whenFull === 'fail') return // the run fails the task instead
  const run = runs.get(taskId)
  const isFull = run ? run.queueLength >= queueLimit : await isFullElsewhere(head, queueLimit, log)
  if (isFull) {
    const text = `Task ${name} has ${queueLimit} messages waiting: send this one later.`
    throw new A2AError('unavailable', text, { retryAfter: 5 })
  }
}

/** A message in the queue of another process. */
export interface RemoteQueueEntry {
  readonly taskId: string
  /** The generation of the message. */
  readonly generation: number
  readonly log: Pick<CallerLog, 'read' | 'head' | 'wait'>
  readonly clock: Clock
  /** Aborts when the server shuts down. */
  readonly signal: AbortSignal
}

/**
 * Resolves when the other process has taken the message from its queue. The journal shows it; without a journal, it
 * resolves when the task is idle or removed. Never rejects.
 */
export async function waitUntilDequeued({ taskId, generation, log, clock, signal }: RemoteQueueEntry): Promise<void> {
  try {
    for (let after = generation; !signal.aborted; ) {
      const events = await log.read(taskId, after)
      if (events.some(({ event }) => isDequeued(event, generation))) return
      after = events.at(-1)?.generation ?? after
      if (events.length > 0) continue
      if (await hasNoEvents(log, taskId)) return
      await log.wait(taskId, after, signal)
      await new Promise<void>((resolve) => {
        const timer = clock.setTimeout(resolve, readInterval)
        if (typeof timer === 'object') timer.unref?.()
      })
    }
  } catch {
    // If the log cannot be read, the slot is released early.
  }
}

/**
 * Whether the task has `limit` messages after the last event of its agent: then at least as many wait in another
 * process. Neither the first message nor the answer to a question waits.
 */
async function isFullElsewhere({ taskId, generation }: VisibleHead, limit: number, log: CallerLog): Promise<boolean> {
  if (generation <= limit) return false
  let waiting = 0
  let isAsking = false
  // Two more: a question, and the status that was stored with its answer.
  for (let after = Math.max(0, generation - limit - 2); after < generation; ) {
    const page = await log.read(taskId, after)
    const last = page.at(-1)
    if (!last) return false
    for (const { event, generation } of page) {
      if (event.type === 'message') waiting += isAsking || generation === 1 ? 0 : 1
      else if (event.type !== 'status' || !event.implied) waiting = 0
      isAsking = event.type === 'status' && isInterrupted(event.status.state)
    }
    after = last.generation
  }
  return waiting >= limit
}

function isDequeued(event: TaskEvent, generation: number): boolean {
  if (event.type === 'status') return isEnded(event.status.state) || isInterrupted(event.status.state)
  if (event.type !== 'journal') return event.type === 'reply'
  const { entry } = event
  if (entry.type === 'attempt') return entry.message >= generation
  return entry.type === 'rested' && entry.answered >= generation
}
