/** Interval at which the event loop is measured and new starts are granted, in milliseconds. */
const tick = 20

/**
 * Starts per tick while turns are running. The lower number is a guarantee: however busy the process is, 100 requests
 * start per second. The higher one keeps the requests of one tick from blocking the event loop for long.
 */
const startsPerTick = { min: 2, max: 32 }

/**
 * Utilization of the event loop up to which `max` requests start per tick, and from which on only `min` do. In between,
 * the number falls evenly. Requests count as use, so that they fill the loop to about three quarters, and turns have the rest.
 */
const utilizationLimits = { idle: 0.5, busy: 0.9 }

/**
 * Weight of the last tick in the average utilization. Turns that wait for the disk leave single idle ticks between busy
 * ones, so one tick says little; the average follows a change within about 100 milliseconds.
 */
const lastTickWeight = 0.25

/** Ticks without a turn after which the process counts as idle: a busy process may have no turn for a moment. */
const idleTicks = 3

/** Where the utilization is unknown, the loop counts as busy if a timer is late by so many milliseconds. */
const maxTimerDelay = 4

export interface StartThrottleOptions {
  /** Maximum number of concurrent requests. */
  readonly total: number
  /** Whether turns are running. */
  readonly isBusy: () => boolean
  /** Called when new starts are available; returns whether requests are still waiting or in flight. */
  readonly onTick: () => boolean
}

/**
 * Limits how many requests start while the process has other work. Turns take priority: the busier they keep the event
 * loop, the fewer requests start per tick, however fast their receivers respond. No event is lost by that, because
 * deliveries read from the log.
 */
export interface StartThrottle {
  /** Whether another request may start in this tick. */
  readonly mayStart: boolean
  /** Uses one of the starts of this tick. */
  take(): void
  /** Takes a start, in this tick or a later one, before all requests that wait for a slot. False if the signal aborts. */
  next(signal: AbortSignal): Promise<boolean>
  /** Measures the event loop from now on, as requests are waiting or in flight. */
  start(): void
}

export function createStartThrottle({ total, isBusy, onTick }: StartThrottleOptions): StartThrottle {
  const lowest = Math.min(startsPerTick.min, total)
  const highest = Math.min(startsPerTick.max, total)
  const queue = new Set<() => void>()
  let perTick = lowest
  let left = 0
  let quietTicks = idleTicks
  let isRunning = false

  function refill(): void {
    quietTicks = isBusy() ? 0 : quietTicks + 1
    left = quietTicks >= idleTicks ? Number.POSITIVE_INFINITY : perTick
    for (const grant of queue) {
      if (!mayStart()) break
      grant()
    }
  }

  function mayStart(): boolean {
    if (left > perTick && isBusy()) {
      quietTicks = 0
      left = perTick
    }
    return left > 0
  }

  function scheduleTick(average: number): void {
    const utilization = measureLoop()
    setTimeout(() => {
      const newAverage = average + (utilization() - average) * lastTickWeight
      perTick = startsAt(newAverage, lowest, highest)
      refill()
      isRunning = onTick()
      if (isRunning) scheduleTick(newAverage)
    }, tick)
  }

  return {
    get mayStart() {
      return mayStart()
    },
    take() {
      left--
    },
    next(signal) {
      if (signal.aborted) return Promise.resolve(false)
      if (queue.size === 0 && mayStart()) {
        left--
        return Promise.resolve(true)
      }
      return new Promise((resolve) => {
        const end = (isGranted: boolean) => {
          queue.delete(grant)
          signal.removeEventListener('abort', cancel)
          resolve(isGranted)
        }
        const cancel = () => end(false)
        const grant = () => {
          left--
          end(true)
        }
        queue.add(grant)
        signal.addEventListener('abort', cancel)
      })
    },
    start() {
      if (isRunning) return
      isRunning = true
      perTick = lowest
      quietTicks = idleTicks
      refill()
      scheduleTick(1)
    },
  }
}

/** The number of requests that may start in a tick at this average utilization. */
function startsAt(utilization: number, lowest: number, highest: number): number {
  const { idle, busy } = utilizationLimits
  const share = Math.min(1, Math.max(0, (busy - utilization) / (busy - idle)))
  return Math.round(lowest + share * (highest - lowest))
}

/** Starts a measurement; the returned function says which share of the time since then the event loop was busy. */
function measureLoop(): () => number {
  const loop: LoopUtilization = performance
  const before = loop.eventLoopUtilization?.()
  const startedAt = performance.now()
  return () => {
    const used = before && loop.eventLoopUtilization?.(before)
    return used ? used.utilization : Number(performance.now() - startedAt - tick >= maxTimerDelay)
  }
}

/** Node's event loop utilization, which is more exact than the delay of a timer. */
interface LoopUtilization extends Pick<Performance, 'now'> {
  eventLoopUtilization?(since?: object): { readonly utilization: number }
}
