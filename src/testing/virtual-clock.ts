import type { Clock, Timer } from '../base/clock.ts'

/** How many turns of the event loop it takes until everything that needs no time has happened. */
const turns = 50

/** Milliseconds of real time that what is done by other threads, such as a digest, may take before time goes on. */
const breath = 10

/** So many steps of time are taken with care: deadlines lie within them. Who waits for days would wait long otherwise. */
const careful = 30

/** Milliseconds of real time after which nothing is believed to happen any more. */
const patience = 10_000

/** Time that passes only when a test says so. */
export interface VirtualClock extends Clock {
  /** Lets so many milliseconds pass: what waits for a moment within them happens at it, in order. */
  advance(milliseconds: number): Promise<void>
  /** Lets time pass as fast as it can until this settles. */
  run<T>(promise: Promise<T>): Promise<T>
}

/** It begins now, or at the moment that is given in milliseconds since 1970. */
export function createVirtualClock(start: number = Date.now()): VirtualClock {
  const waiting = new Map<number, Waiting>()
  let now = start
  let last = 0

  function wait(act: () => void, milliseconds: number, every?: number): Timer {
    waiting.set(++last, { at: now + Math.max(0, milliseconds), act, ...(every !== undefined && { every }) })
    return last
  }

  /** The first of those that are due by then; of equals the one that was set first. */
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
        if (Date.now() - begun > patience) throw new Error(`It did not happen, although ${now - start} ms have passed.`)
      }
      return await promise
    },
  }
}

interface Waiting {
  at: number
  readonly act: () => void
  /** Of what comes again and again. */
  readonly every?: number
}

async function settle(atLeast = 0): Promise<void> {
  const end = Date.now() + atLeast
  for (let turn = 0; turn < turns || Date.now() < end; turn++) await new Promise<void>((resolve) => nextTurn(resolve))
}

const nextTurn: (act: () => void) => unknown = globalThis.setImmediate ?? ((act) => setTimeout(act, 0))
