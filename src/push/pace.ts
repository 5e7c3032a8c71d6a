/**
 * How many requests may set out, given what else this process has to do. Turns come first: while they keep the event
 * loop busy, requests are held back until it breathes again, whether their receivers answer at once or never. Nothing
 * is lost by that, for what is to be told lies in the log.
 */
export interface Pace {
  /** Whether one more may set out in this beat. */
  readonly hasStarts: boolean
  /** Takes one of the starts of this beat. */
  take(): void
  /** Requests are waiting or on their way: the loop is watched from now on. */
  begin(): void
}

export interface PaceOptions {
  /** So many set out in one beat at the most while there are turns at work. */
  readonly total: number
  /** Whether there are turns at work. */
  readonly isBusy: () => boolean
  /** There are new starts; whether anything is waiting or on its way still. */
  readonly onBeat: () => boolean
}

/** Milliseconds from one look to the next. */
const beat = 20
/** Up to which share of its time the loop may be at work, or how late it may be where that is not told. */
const spare = { share: 0.7, milliseconds: 4 }
/** So many set out even then, so that a process that is always busy tells at least a hundred a second. */
const least = 2

export function createPace({ total, isBusy, onBeat }: PaceOptions): Pace {
  const lowest = Math.min(least, total)
  let perBeat = lowest
  let left = 0
  /** Whether no turn was at work when it was last looked: a busy process may have none for a moment. */
  let wasCalm = true
  let timer: ReturnType<typeof setTimeout> | undefined

  function open(): void {
    const isCalm = !isBusy()
    left = isCalm && wasCalm ? Number.POSITIVE_INFINITY : perBeat
    wasCalm = isCalm
  }

  function look(): void {
    const hasTime = watchLoop()
    timer = setTimeout(() => {
      timer = undefined
      perBeat = hasTime() ? Math.min(total, perBeat * 2) : Math.max(lowest, perBeat >> 1)
      open()
      if (onBeat()) look()
    }, beat)
  }

  return {
    get hasStarts() {
      if (left > perBeat && isBusy()) left = perBeat
      return left > 0
    },
    take() {
      left--
    },
    begin() {
      if (timer !== undefined) return
      perBeat = lowest
      wasCalm = true
      open()
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
