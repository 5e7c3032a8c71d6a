import type { Clock } from '../protocol/clock.ts'
import type { TaskEvent } from '../protocol/events.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
import type { CallerLog } from './caller-log.ts'

/** Milliseconds between two looks at a task that tells much. */
const breath = 250

export interface QueuedElsewhere {
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
export async function untilTakenUp({ taskId, generation, log, clock, signal }: QueuedElsewhere): Promise<void> {
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

function isTakenUp(event: TaskEvent, generation: number): boolean {
  if (event.type === 'status') return isEnded(event.status.state) || isInterrupted(event.status.state)
  if (event.type !== 'journal') return event.type === 'reply'
  const { entry } = event
  if (entry.type === 'attempt') return entry.message >= generation
  return entry.type === 'rested' && entry.answered >= generation
}
