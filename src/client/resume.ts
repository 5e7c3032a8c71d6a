import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call } from '../protocol/service.ts'
import type { ResumeOptions } from './heal.ts'
import { createPosition, isNext, type Position } from './position.ts'
import { type Open, readOn, type StreamRequest, type Take } from './read-on.ts'

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

function notLoaded(): A2AError {
  return new A2AError('unavailable', 'What is needed to go on with a stream could not be loaded.', {
    reason: 'not-loaded',
  })
}
