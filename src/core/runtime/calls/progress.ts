import type { StreamEvent } from '../../protocol/events.ts'

const maxWaiting = 256

/** The events of a call, for code that iterates over it. Without an iteration, no event is kept. */
export interface Progress {
  /** Await it: a slow reader slows down the call. */
  emit(event: StreamEvent): Promise<void> | undefined
  end(failure?: unknown): void
  read(): AsyncGenerator<StreamEvent>
}

export function createProgress(): Progress {
  const waiting: StreamEvent[] = []
  let isRead = false
  let end: { readonly failure?: unknown } | undefined
  let wakeReader = () => {}
  let resumeCall = () => {}

  return {
    emit(event) {
      if (!isRead) return undefined
      waiting.push(event)
      wakeReader()
      return waiting.length < maxWaiting
        ? undefined
        : new Promise((resolve) => {
            resumeCall = resolve
          })
    },
    end(failure) {
      end ??= failure === undefined ? {} : { failure }
      wakeReader()
    },
    async *read() {
      isRead = true
      try {
        for (;;) {
          const event = waiting.shift()
          if (event) {
            yield event
            resumeCall()
          } else if (end) {
            if ('failure' in end) throw end.failure
            return
          } else {
            await new Promise<void>((resolve) => {
              wakeReader = resolve
            })
          }
        }
      } finally {
        isRead = false
        waiting.length = 0
        resumeCall()
      }
    },
  }
}
