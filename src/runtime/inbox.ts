import type { MessageEvent } from '../protocol/events.ts'

/** A message and where in the log it lies. */
export interface Letter {
  readonly received: MessageEvent
  readonly generation: number
}

/** Messages for a task that has not taken them yet, oldest first. */
export interface Inbox {
  size(): number
  /** Whether somebody was waiting for it. */
  push(letter: Letter): boolean
  take(): Letter | undefined
  /** Holds these, and no others. */
  fill(letters: readonly Letter[]): void
  /** Waits for the next one; rejects with the signal's reason. */
  next(signal: AbortSignal): Promise<Letter>
  /** The generation of the last one that was taken; 0 if none was. */
  taken(): number
}

export function createInbox(): Inbox {
  const letters: Letter[] = []
  let deliver: ((letter: Letter) => void) | undefined
  let taken = 0

  function take(): Letter | undefined {
    const first = letters.shift()
    if (first) taken = first.generation
    return first
  }

  return {
    size: () => letters.length,
    push(letter) {
      if (!deliver) {
        letters.push(letter)
        return false
      }
      deliver(letter)
      return true
    },
    take,
    fill(given) {
      letters.splice(0, letters.length, ...given)
    },
    taken: () => taken,
    next(signal) {
      const first = take()
      if (first) return Promise.resolve(first)
      return new Promise((resolve, reject) => {
        const stop = () => {
          deliver = undefined
          reject(signal.reason)
        }
        deliver = (letter) => {
          deliver = undefined
          taken = letter.generation
          signal.removeEventListener('abort', stop)
          resolve(letter)
        }
        signal.addEventListener('abort', stop, { once: true })
        if (signal.aborted) stop()
      })
    },
  }
}
