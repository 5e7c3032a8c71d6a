import type { MessageEvent } from '../protocol/events.ts'

/** Messages for a task that has not taken them yet, oldest first. */
export interface Inbox {
  size(): number
  /** Whether somebody was waiting for it. */
  push(message: MessageEvent): boolean
  take(): MessageEvent | undefined
  /** Waits for the next one; rejects with the signal's reason. */
  next(signal: AbortSignal): Promise<MessageEvent>
}

export function createInbox(): Inbox {
  const messages: MessageEvent[] = []
  let deliver: ((message: MessageEvent) => void) | undefined

  return {
    size: () => messages.length,
    push(message) {
      if (!deliver) {
        messages.push(message)
        return false
      }
      deliver(message)
      return true
    },
    take: () => messages.shift(),
    next(signal) {
      const first = messages.shift()
      if (first) return Promise.resolve(first)
      return new Promise((resolve, reject) => {
        const stop = () => {
          deliver = undefined
          reject(signal.reason)
        }
        deliver = (message) => {
          deliver = undefined
          signal.removeEventListener('abort', stop)
          resolve(message)
        }
        signal.addEventListener('abort', stop, { once: true })
        if (signal.aborted) stop()
      })
    },
  }
}
