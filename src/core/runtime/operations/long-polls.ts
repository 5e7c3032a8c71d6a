import { linkSignals } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { Call, GetTaskRequest } from '../../protocol/service.ts'
import { isEnded } from '../../protocol/states.ts'
import { followPages } from '../../tasks/follow.ts'
import { revisionAt } from '../../tasks/revisions.ts'
import type { CallerLog } from '../caller-log.ts'

/** Milliseconds that a long poll lasts at most, which is less than most proxies allow a request. */
const maxWait = 30_000

/** Long polls of one caller that wait in this process. Further ones are answered at once. */
const maxPerCaller = 100

/** The calls of this process that wait for a change of their task. */
export interface LongPolls {
  /**
   * Resolves when the revision of the task is greater than `afterRevision`, or when the call must wait no longer: its
   * time is over, the task has ended, the server shuts down, or its caller has too many of them.
   */
  wait(request: GetTaskRequest, call: Pick<Call, 'signal'>, log: CallerLog): Promise<void>
}

export interface LongPollOptions {
  readonly clock: Clock
  /** Aborts when the server shuts down. */
  readonly closing: AbortSignal
  /** Milliseconds that calls may block. */
  readonly blockFor: number | undefined
}

export function createLongPolls({ clock, closing, blockFor = maxWait }: LongPollOptions): LongPolls {
  const limit = Math.min(blockFor, maxWait)
  /** The number of waiting calls, by their caller. */
  const waiting = new Map<string, number>()

  return {
    async wait(request, call, log) {
      const { afterRevision = Number.POSITIVE_INFINITY } = request
      const { taskId, generation, phase } = await log.task(request)
      if (isEnded(phase) || (await revisionAt(log, taskId, generation)) > afterRevision) return
      const count = waiting.get(log.owner) ?? 0
      if (count >= maxPerCaller) return
      waiting.set(log.owner, count + 1)
      const { signal, release } = linkSignals([call.signal, closing], limit, clock)
      try {
        for await (const page of followPages(log, taskId, generation, signal)) {
          const event = page.at(-1)?.event
          if (!event || (event.revision ?? 0) > afterRevision) return
          if (event.type === 'status' && isEnded(event.status.state)) return
        }
      } finally {
        release()
        const left = (waiting.get(log.owner) ?? 1) - 1
        if (left > 0) waiting.set(log.owner, left)
        else waiting.delete(log.owner)
      }
    },
  }
}
