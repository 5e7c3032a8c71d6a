import type { StreamEvent } from '../../protocol/events.ts'

const maxWaiting = 256

/** What happens in a call, for whoever iterates it. Nobody does: nothing is kept. */
export interface Progress {
  /** To be awaited: a reader that is slow slows the call down. */
  emit(event: StreamEvent): Promise<void> | undefined
  end(failure?: unknown): void
  read(): AsyncGenerator<StreamEvent>
}

export function createProgress(): Progress {
  const waiting: StreamEvent[] = []
  let isRead = false
  let end: { readonly failure?: unknown } | undefined
  let wake = () => {}
  let resume = () => {}

  return {
    emit(event) {
      if (!isRead) return undefined
      waiting.push(event)
      wake()
      return waiting.length < maxWaiting
        ? undefined
        : new Promise((resolve) => {
            resume = resolve
          })
    },
    end(failure) {
      end ??= failure === undefined ? {} : { failure }
      wake()
    },
    async *read() {
      isRead = true
      try {
        for (;;) {
          const event = waiting.shift()
          if (event) {
            yield event
            resume()
          } else if (end) {
            if ('failure' in end) throw end.failure
            return
          } else {
            await new Promise<void>((resolve) => {
              wake = resolve
            })
          }
        }
      } finally {
        isRead = false
        waiting.length = 0
        resume()
      }
    },
  }
}
