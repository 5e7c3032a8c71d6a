import type { StreamEvent } from '../../protocol/events.ts'

type Next = IteratorResult<StreamEvent, unknown>

/** A stream of which one can look at the next event without taking it. */
export interface Reader {
  peek(): Promise<Next>
  take(): Promise<Next>
  close(): void
}

export function createReader(source: AsyncGenerator<StreamEvent>): Reader {
  let next: Promise<Next> | undefined
  function peek(): Promise<Next> {
    next ??= source.next()
    // Who does not take it does not have to hear of it.
    next.catch(() => {})
    return next
  }
  return {
    peek,
    take() {
      const taken = peek()
      next = undefined
      return taken
    },
    close: () => void source.return(undefined).catch(() => {}),
  }
}
