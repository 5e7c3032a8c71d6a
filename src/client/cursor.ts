import type { StreamEvent } from '../protocol/events.ts'
import { isNext, note, numberOf, type Position } from './position.ts'
import { createSeen } from './seen.ts'

/** A reader whose stream broke, and who reads on in others. */
export interface Cursor {
  /**
   * What comes now is from another source: the next events, if the agent heeds the number it was given; or the task
   * as it is and then the next events; or looks at the task.
   */
  reopen(from: 'next' | 'snapshot' | 'looks'): void
  /** What of the event is to be told. Each is told once, in its order. */
  take(event: StreamEvent): readonly StreamEvent[]
}

/** How the events of a stream follow those of the one before. */
type Mode = 'exact' | 'unsure' | 'difference'

/** `onGap`: it cannot be known whether something is missing. */
export function createCursor(position: Position, onGap: () => void): Cursor {
  const seen = createSeen(position.marks)
  let mode: Mode = 'exact'

  /** The first event of a stream that was asked to go on after another shows whether it does. */
  function decide(event: StreamEvent): Mode {
    if (event.type === 'task' && numberOf(position, event) < (position.generation ?? 0)) {
      // It counts from the start: so it has counted something else all the time.
      position.isNumbered = false
      delete position.generation
    }
    return event.type !== 'task' && numberOf(position, event) > 0 ? 'exact' : 'difference'
  }

  function newsIn(event: StreamEvent): readonly StreamEvent[] {
    if (event.type === 'message') return [event]
    if (mode === 'unsure') {
      mode = decide(event)
      const number = numberOf(position, event)
      const isNothingMissing = event.type === 'task' && number > 0 && number === position.generation
      if (mode === 'difference' && !isNothingMissing) onGap()
    }
    if (mode === 'exact') return isNext(position, event) ? [event] : []
    if (event.follows !== undefined) position.isCounted = true
    const number = numberOf(position, event)
    // The task as it is has what led to it.
    if (event.type !== 'task' && number > 0 && number <= (position.generation ?? 0)) return []
    const news = event.type === 'task' ? seen.missingOf(event.task) : [seen.newsOf(event)]
    note(position, event)
    return news.filter((each) => each !== undefined)
  }

  return {
    reopen(from) {
      mode = from === 'next' ? 'unsure' : 'difference'
      // Who only looks knows that something may happen between two looks.
      if (from === 'snapshot') onGap()
    },
    take(event) {
      const news = newsIn(event)
      position.told += news.length
      return news
    },
  }
}
