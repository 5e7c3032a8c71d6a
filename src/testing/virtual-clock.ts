import type { Clock, Timer } from '../core/base/clock.ts'
import { defined } from '../core/base/json.ts'

/** Iterations of the event loop after which all work without timers is assumed to be done. */
const turns = 50

/** Real time for work in other threads, such as a digest, before the clock advances. In milliseconds. */
const breath = 10

/** Only this many timers get that real time, which covers deadlines; otherwise running for days would be slow. */
const careful = 30

/** Real time after which `run` gives up. In milliseconds. */
const patience = 10_000

/** A clock that advances only when the test says so. */
export interface VirtualClock extends Clock {
  /** Advances the clock by this many milliseconds and fires the timers that become due, in order. */
  advance(milliseconds: number): Promise<void>
  /** Advances the clock from timer to timer until the promise settles. */
  run<T>(promise: Promise<T>): Promise<T>
}

/** Creates a clock that starts now, or at a time in milliseconds since 1970. */
export function createVirtualClock(start: number = Date.now()): VirtualClock {
  const waiting = new Map<number, Waiting>()
  let now = start
  let last = 0

  function wait(act: () => void, milliseconds: number, every?: number): Timer {
    waiting.set(++last, defined({ at: now + Math.max(0, milliseconds), act, every }))
    return last
  }

  /** The earliest timer that is due by then; of two equal ones, the one that was set first. */
  function nextUntil(end: number): readonly [number, Waiting] | undefined {
    let next: readonly [number, Waiting] | undefined
    for (const each of waiting) if (each[1].at <= end && (!next || each[1].at < next[1].at)) next = each
    return next
  }

  function fire([timer, { at, act, every }]: readonly [number, Waiting]): void {
    now = Math.max(now, at)
    if (every === undefined) waiting.delete(timer)
    else waiting.set(timer, { at: at + Math.max(1, every), act, every })
    act()
  }

  return {
    now: () => now,
    setTimeout: (act, milliseconds) => wait(act, milliseconds),
    setInterval: (act, milliseconds) => wait(act, milliseconds, milliseconds),
    clearTimeout(timer) {
      if (typeof timer === 'number') waiting.delete(timer)
    },
    async advance(milliseconds) {
      const end = now + milliseconds
      await settle()
      for (let next = nextUntil(end); next; next = nextUntil(end)) {
        fire(next)
        await settle()
      }
      now = end
    },
    async run(promise) {
      let isOver = false
      const finish = () => {
        isOver = true
      }
      promise.then(finish, finish)
      const begun = Date.now()
      let steps = 0
      for (await settle(breath); !isOver; await settle(++steps < careful ? breath : 0)) {
        const next = nextUntil(Number.POSITIVE_INFINITY)
        if (next) fire(next)
        if (Date.now() - begun > patience)
          throw new Error(`The promise did not settle, although ${now - start} ms have passed on the virtual clock.`)
      }
      return await promise
    },
  }
}

interface Waiting {
  at: number
  readonly act: () => void
  /** Set for intervals. */
  readonly every?: number
}

async function settle(atLeast = 0): Promise<void> {
  const end = Date.now() + atLeast
  for (let turn = 0; turn < turns || Date.now() < end; turn++) await new Promise<void>((resolve) => nextTurn(resolve))
}

const nextTurn: (act: () => void) => unknown = globalThis.setImmediate ?? ((act) => setTimeout(act, 0))
