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
  /** Takes the one of that generation, wherever it stands. */
  drop(generation: number): Letter | undefined
  /** Holds these, and no others. */
  fill(letters: readonly Letter[]): void
  /** Waits for the next one, behind others who wait; rejects with the signal's reason. */
  next(signal: AbortSignal): Promise<Letter>
  /** The generation of the last one that was taken; 0 if none was. */
  taken(): number
}

export function createInbox(): Inbox {
  const letters: Letter[] = []
  const waiting: ((letter: Letter) => void)[] = []
  let taken = 0

  function take(): Letter | undefined {
    const first = letters.shift()
    if (first) taken = first.generation
    return first
  }

  return {
    size: () => letters.length,
    push(letter) {
      const deliver = waiting.shift()
      if (deliver) deliver(letter)
      else letters.push(letter)
      return deliver !== undefined
    },
    take,
    drop(generation) {
      const at = letters.findIndex((each) => each.generation === generation)
      taken = Math.max(taken, generation)
      return at < 0 ? undefined : letters.splice(at, 1)[0]
    },
    fill(given) {
      letters.splice(0, letters.length, ...given)
    },
    taken: () => taken,
    next(signal) {
      const first = take()
      if (first) return Promise.resolve(first)
      return new Promise((resolve, reject) => {
        const stop = () => {
          waiting.splice(waiting.indexOf(deliver) >>> 0, 1)
          reject(signal.reason)
        }
        const deliver = (letter: Letter) => {
          taken = letter.generation
          signal.removeEventListener('abort', stop)
          resolve(letter)
        }
        waiting.push(deliver)
        signal.addEventListener('abort', stop, { once: true })
        if (signal.aborted) stop()
      })
    },
  }
}
