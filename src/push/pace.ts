/**
 * How many requests may be on their way, given what else this process has to do. Turns come first: while they keep the
 * event loop busy, requests are held back until it breathes again. Nothing is lost by that, for what is to be told lies
 * in the log.
 */
export interface Pace {
  readonly limit: number
  /** Requests are waiting or on their way: the loop is watched from now on. */
  begin(): void
}

export interface PaceOptions {
  readonly total: number
  /** Whether there are turns at work. */
  readonly isBusy: () => boolean
  /** The limit may have risen; whether anything is waiting or on its way still. */
  readonly onBeat: () => boolean
}

/** Milliseconds from one look to the next. */
const beat = 20
/** Up to which share of its time the loop may be at work, or how late it may be where that is not told. */
const spare = { share: 0.7, milliseconds: 4 }
/** So many are on their way even then. */
const least = 2

export function createPace({ total, isBusy, onBeat }: PaceOptions): Pace {
  const lowest = Math.min(least, total)
  let limit = isBusy() ? lowest : total
  let timer: ReturnType<typeof setTimeout> | undefined

  function look(): void {
    const hasTime = watchLoop()
    timer = setTimeout(() => {
      timer = undefined
      if (!isBusy()) limit = total
      else limit = hasTime() ? Math.min(total, limit + 2) : Math.max(lowest, limit >> 1)
      if (onBeat()) look()
    }, beat)
  }

  return {
    get limit() {
      return limit
    },
    begin() {
      if (timer !== undefined) return
      limit = isBusy() ? lowest : total
      look()
    },
  }
}

/** As Node has it, which is more exact than to see how late a timer is. */
interface Utilized extends Pick<Performance, 'now'> {
  eventLoopUtilization?(since?: object): { readonly utilization: number }
}

/** Whether the event loop has had time to spare since then. */
function watchLoop(): () => boolean {
  const loop: Utilized = performance
  const before = loop.eventLoopUtilization?.()
  const asked = performance.now()
  return () => {
    const used = before && loop.eventLoopUtilization?.(before)
    return used ? used.utilization < spare.share : performance.now() - asked - beat < spare.milliseconds
  }
}
