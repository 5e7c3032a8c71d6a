import { delayAfter } from '../client/backoff.ts'
import { pause } from '../client/pause.ts'
import type { Looking } from '../client/poll.ts'
import { createSeen } from '../client/seen.ts'
import { systemClock } from '../protocol/clock.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Service } from '../protocol/service.ts'
import { isEnded } from '../protocol/states.ts'

export interface LookOptions {
  /** Milliseconds between two looks at a task, at first and at last. */
  readonly minDelay?: number
  readonly maxDelay?: number
}

/** How often in a row a look may fail. */
const tries = 5
const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['unavailable', 'timeout', 'rate-limited'])

/** How a service is looked at: a look that fails for a while ends nobody's stream. */
export function lookingAt(service: Service, { minDelay = 100, maxDelay = 2_000 }: LookOptions) {
  const looking: Looking = { minDelay, maxDelay, clock: systemClock }
  const getTask: Service['getTask'] = async (request, call) => {
    for (let failures = 1; ; failures++) {
      try {
        return await service.getTask(request, call)
      } catch (error) {
        const passes = error instanceof A2AError && passing.has(error.code) && failures < tries
        if (!passes || call.signal.aborted) throw error
        const asked = (error.retryAfter ?? 0) * 1_000
        if (asked > longestWait) throw error
        await pause(Math.max(asked, delayAfter(failures, { ...looking, tries })), call.signal, looking.clock)
      }
    }
  }
  return { ...looking, service: { ...service, getTask } }
}

/** Milliseconds for which a reader is left without a word because the peer says so. */
const longestWait = 30_000

/** What a stream says of a task that is looked at again and again: the task at first, and then what has changed. */
export async function* differences(looks: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
  const seen = createSeen()
  for await (const look of looks) {
    for (const event of look.type === 'task' ? seen.missingOf(look.task) : [look]) {
      seen.record(event)
      yield event.type === 'status' ? { ...event, isLast: rests(event) } : event
    }
  }
}

/** Where looking ends. */
function rests({ status }: Extract<StreamEvent, { type: 'status' }>): boolean {
  return isEnded(status.state) || status.state === 'input-required'
}
