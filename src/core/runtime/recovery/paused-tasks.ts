import type { StoredEvent } from '../../protocol/events.ts'
import { isInterrupted, type Phase } from '../../protocol/states.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { QueuedMessage } from '../turns/message-queue.ts'

/**
 * A task without a journal pauses when its agent emits `input-required` or `auth-required` and returns: the next message
 * starts a new turn. The lease is released in a later write than the status. If the process ends in between, the lease
 * expires as if a turn had been interrupted, so the status names the fence of its lease. A turn that begins afterwards
 * leaves a trace: another fence, or a status of its writer.
 */

/** What the log of a task holds about its end. */
export interface UnfinishedTask {
  readonly isCanceled: boolean
  /** Set if no turn was interrupted. */
  readonly pause: Pause | undefined
  /** The last generation. */
  readonly generation: number
}

/** The state in which a paused task continues. */
export interface Pause {
  readonly generation: number
  readonly phase: Phase
  /** The first message after the pause. No turn has begun to answer it. */
  readonly message: QueuedMessage | undefined
}

/** Reads the log of a task whose lease with that fence has expired. */
export async function readUnfinished(
  log: Pick<TaskLog, 'read'>,
  taskId: string,
  fence: number,
): Promise<UnfinishedTask> {
  let pause: MarkedPause | undefined
  let isCanceled = false
  let generation = 0
  for (;;) {
    const page = await log.read(taskId, generation)
    const last = page.at(-1)
    if (!last) break
    for (const stored of page) {
      isCanceled ||= stored.event.type === 'cancel'
      pause = pauseAfter(stored, pause)
    }
    generation = last.generation
  }
  // Without a message, no run can have begun a turn, even if a process took the lease only to release it.
  const isContinuable = pause && (pause.fence === fence || !pause.message)
  return { isCanceled, pause: isContinuable ? pause : undefined, generation }
}

interface MarkedPause extends Pause {
  readonly fence: number
}

function pauseAfter({ event, generation }: StoredEvent, pause: MarkedPause | undefined): MarkedPause | undefined {
  if (event.type === 'status' && event.pausedUnder !== undefined && isInterrupted(event.status.state)) {
    return { generation, phase: event.status.state, fence: event.pausedUnder, message: undefined }
  }
  if (!pause || event.type === 'cancel') return pause
  const { message } = pause
  if (event.type === 'message') return message ? pause : { ...pause, generation, message: { event, generation } }
  if (event.type === 'status' && event.withAnswer) {
    return message?.generation === generation - 1 ? { ...pause, generation, phase: event.status.state } : pause
  }
  // The agent may emit more before it returns, but a message is not answered while it works.
  const isStillPaused = event.type === 'status' ? isInterrupted(event.status.state) : event.type === 'artifact'
  return isStillPaused && !message ? { ...pause, generation } : undefined
}
