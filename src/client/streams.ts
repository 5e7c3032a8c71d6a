import type { StreamEvent } from '../protocol/events.ts'
import { failures } from '../transports/on-failure.ts'
import type { Backoff } from './backoff.ts'
import { type BrokenStream, heal } from './heal.ts'
import { createPace } from './pace.ts'
import type { PollOptions } from './poll.ts'
import { createPosition, isNext, type Position } from './position.ts'
import { readOn, type Take } from './read-on.ts'

export interface StreamOptions extends Omit<BrokenStream, 'position' | 'begun' | 'broken' | 'backoff' | 'polling'> {
  readonly resume?: Partial<Backoff>
  readonly polling?: Partial<PollOptions>
}

/**
 * A stream that goes on by itself when it breaks. Who reads it sees each event once, in its order. Loaded while the
 * agent is asked for its first stream: later, the network that broke the stream may not bring it.
 */
export async function* healing(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { clock, notify } = options
  // What has failed must be told apart from then on, whatever the network brings by then.
  failures().catch(() => {})
  const pace = createPace(clock.now)
  for await (const event of unbroken(options)) {
    pace.note(event)
    yield event
  }
  const verdict = pace.verdict()
  if (verdict && !options.call.signal.aborted) notify(verdict)
}

async function* unbroken(options: StreamOptions): AsyncGenerator<StreamEvent> {
  const { request, call, direct, peer, clock } = options
  const position = createPosition('taskId' in request ? request.taskId : undefined)
  const isPolled = 'message' in request && !peer.streams()
  const begun = clock.now()
  const broken = isPolled ? undefined : yield* readOn(direct, position, peer, call, nextOf(position))
  if (!broken && !isPolled) return
  const backoff = { tries: 8, minDelay: 250, maxDelay: 15_000, ...options.resume }
  const polling = { minDelay: 500, maxDelay: 5_000, ...options.polling }
  yield* heal({ ...options, position, begun, broken, backoff, polling })
}

function nextOf(position: Position): Take {
  return (event) => {
    if (!isNext(position, event)) return []
    position.told++
    return [event]
  }
}
