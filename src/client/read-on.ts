import type { RequestOf, StreamOperation } from '../dialects/dialect.ts'
import { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Call } from '../protocol/service.ts'
import type { Peer } from './peer.ts'
import { isAtRest, type Position } from './position.ts'

export type StreamRequest = RequestOf<StreamOperation>
export type Open = () => AsyncGenerator<StreamEvent>
export type Take = (event: StreamEvent) => readonly StreamEvent[]

/** Why a stream is over before its task is: it failed, or just ended. */
export type Break = A2AError | 'ended'

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
