import { setTimeout as sleep } from 'node:timers/promises'

/** Waits longer after every failure, and not all in step. */
export interface Backoff {
  wait(): Promise<void>
  reset(): void
}

const shortest = 20
const longest = 1_000

export function createBackoff(signal: AbortSignal): Backoff {
  let pause = shortest
  return {
    async wait() {
      const now = pause * (0.5 + Math.random() / 2)
      pause = Math.min(pause * 2, longest)
      await sleep(now, undefined, { signal, ref: false }).catch(() => {})
    },
    reset() {
      pause = shortest
    },
  }
}
