import { type LimitStore, nextFull, standingAt } from './store.ts'

export interface MemoryLimitsOptions {
  /** Callers that are remembered. Of more, those who were quiet for longest start anew. */
  readonly callers?: number
  readonly now?: () => number
}

/** For one process. */
export function createMemoryLimits({ callers = 100_000, now = Date.now }: MemoryLimitsOptions = {}): LimitStore {
  const full = new Map<string, number>()
  const held = new Map<string, number>()
  return {
    take(key, rate) {
      const moment = now()
      const known = full.get(key) ?? 0
      const next = nextFull(known, moment, rate)
      full.delete(key)
      full.set(key, next ?? known)
      if (full.size > callers) full.delete(full.keys().next().value ?? key)
      return standingAt(next ?? known, moment, rate, next !== undefined)
    },
    hold(key, places) {
      const taken = held.get(key) ?? 0
      if (taken >= places) return undefined
      held.set(key, taken + 1)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        const left = (held.get(key) ?? 1) - 1
        if (left > 0) held.set(key, left)
        else held.delete(key)
      }
    },
  }
}
