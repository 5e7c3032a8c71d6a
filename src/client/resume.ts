import type { RequestOf, StreamOperation } from '../dialects/dialect.ts'
import type { Clock } from '../protocol/clock.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call, Service } from '../protocol/service.ts'
import type { Backoff } from './backoff.ts'
import type { Notify } from './notice.ts'
import type { Peer } from './peer.ts'
import type { PollOptions } from './poll.ts'
import { createPosition, isAtRest, isNext, type Position } from './position.ts'

export interface ResumeOptions {
  /** Whose streams break. */
  readonly service: Service
  readonly peer: Peer
  readonly backoff: Backoff
  readonly polling: PollOptions
  readonly clock: Clock
  readonly notify: Notify
}

export type StreamRequest = RequestOf<StreamOperation>
export type Open = () => AsyncGenerator<StreamEvent>
type Take = (event: StreamEvent) => readonly StreamEvent[]

/** Why a stream is over before its task is: it failed, or just ended. */
export type Break = A2AError | 'ended'

/**
 * Streams that go on by themselves when they break. Who reads them sees each event once, in its order. How they go on
 * is loaded when one breaks, or if there are none.
 */
export function resuming(options: ResumeOptions): (request: StreamRequest, call: Call) => AsyncGenerator<StreamEvent> {
  const { service, peer, clock } = options

  return async function* follow(request, call) {
    const position = createPosition('taskId' in request ? request.taskId : undefined)
    const direct: Open = () =>
      'message' in request ? service.streamMessage(request, call) : service.subscribeToTask(request, call)
    const isPolled = 'message' in request && !peer.streams()
    const begun = clock.now()
    const broken = isPolled ? undefined : yield* readOn(direct, position, peer, call, nextOf(position))
    if (!broken && !isPolled) return
    const healing = await import('./heal.ts').catch(() => undefined)
    if (healing) return yield* healing.heal({ ...options, request, call, position, direct, begun, broken })
    throw broken instanceof A2AError ? broken : notLoaded()
  }
}

function nextOf(position: Position): Take {
  return (event) => {
    if (!isNext(position, event)) return []
    position.told++
    return [event]
  }
}

/** Tells what is new in a stream. Returns why it is over before the task is; nothing if it is not. */
export async function* readOn(
  open: Open,
  position: Position,
  peer: Peer,
  { signal }: Call,
  take: Take,
): AsyncGenerator<StreamEvent, Break | undefined> {
  try {
    for await (const event of open()) {
      for (const news of take(event)) {
        yield news
        if (news.isLast) return undefined
      }
      if (position.generation !== undefined) peer.learn({ numbersEvents: true })
    }
    return signal.aborted || isAtRest(position, false) ? undefined : 'ended'
  } catch (error) {
    if (error instanceof A2AError) return error
    throw error
  }
}

function notLoaded(): A2AError {
  return new A2AError('unavailable', 'What is needed to go on with a stream could not be loaded.', {
    reason: 'not-loaded',
  })
}
