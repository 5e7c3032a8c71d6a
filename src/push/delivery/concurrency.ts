import { BoundedMap } from '../../base/bounded-map.ts'
import type { ConcurrencyOptions } from '../options.ts'

/** Interval at which the event loop is measured and new starts are granted, in milliseconds. */
const tick = 20

/**
 * Below this share of busy time, or timer delay where utilization is unknown, the event loop counts as idle. Sending to a
 * webhook takes about as much CPU as a small task, so requests must not take what turns that wait for the disk need next.
 */
const idleLimit = { share: 0.5, milliseconds: 4 }

/**
 * Starts per tick while turns are running: few while the loop is busy, so that an always busy process still sends a
 * hundred requests a second, and never so many that they block the loop for long.
 */
const startsPerTick = { min: 2, max: 16 }

/** Number of slow receivers that are remembered. */
const maxSlowReceivers = 10_000

export interface DeliverySlotsOptions extends Pick<Required<ConcurrencyOptions>, 'total' | 'perHost' | 'slow'> {
  /** Duration after which a request counts as slow, in milliseconds. */
  readonly slowAfter?: number
  /** Whether this process has work that takes priority. */
  readonly isBusy?: () => boolean
}

export interface Slot {
  /** Called when the request has ended. */
  release(): void
}

/**
 * Limits the number of concurrent requests, in total and per host. A request that waits long for its response moves to a
 * second pool of slots for slow receivers, so that a hanging receiver does not delay others. A receiver whose last
 * request was slow starts in that pool.
 */
export interface DeliverySlots {
  /** Resolves when a slot for a request to this host is free; undefined if the signal aborts first. */
  acquire(host: string, receiver: string, signal: AbortSignal): Promise<Slot | undefined>
}

export function createDeliverySlots(options: DeliverySlotsOptions): DeliverySlots {
  const { total, perHost, slow, slowAfter = 500, isBusy = () => false } = options
  const throttle = createStartThrottle({ total, isBusy, onTick: () => fastPool.grantWaiting() })
  const fastPool: SlotPool = createSlotPool(total, perHost, throttle)
  const slowPool = createSlotPool(slow, Math.max(perHost, Math.ceil(slow / 8)))
  const slowReceivers = new BoundedMap<string, true>(maxSlowReceivers)

  return {
    async acquire(host, receiver, signal) {
      throttle.start()
      let pool = slowReceivers.has(receiver) ? slowPool : fastPool
      if (!(await pool.acquire(host, signal))) return undefined
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        slowReceivers.set(receiver, true)
        if (pool === slowPool || !slowPool.tryAcquire(host)) return
        pool.release(host)
        pool = slowPool
      }, slowAfter)
      return {
        release() {
          clearTimeout(timer)
          if (!isSlow) slowReceivers.delete(receiver)
          pool.release(host)
        },
      }
    },
  }
}

export interface StartThrottleOptions {
  /** Maximum number of concurrent requests. */
  readonly total: number
  /** Whether turns are running. */
  readonly isBusy: () => boolean
  /** Called when new starts are available; returns whether requests are still waiting or in flight. */
  readonly onTick: () => boolean
}

/**
 * Limits how many requests start while the process has other work. Turns take priority: while they keep the event loop
 * busy, only a few requests start per tick, however fast their receivers respond. No event is lost by that, because
 * deliveries read from the log.
 */
export interface StartThrottle {
  /** Whether another request may start in this tick. */
  readonly mayStart: boolean
  /** Uses one of the starts of this tick. */
  take(): void
  /** Measures the event loop from now on, as requests are waiting or in flight. */
  start(): void
}

export function createStartThrottle({ total, isBusy, onTick }: StartThrottleOptions): StartThrottle {
  const lowest = Math.min(startsPerTick.min, total)
  const highest = Math.min(startsPerTick.max, total)
  let perTick = lowest
  let left = 0
  /** Whether no turn was running at the last tick: a busy process may have none for a moment. */
  let wasIdle = true
  let timer: ReturnType<typeof setTimeout> | undefined

  function refill(): void {
    const isIdle = !isBusy()
    left = isIdle && wasIdle ? Number.POSITIVE_INFINITY : perTick
    wasIdle = isIdle
  }

  function scheduleTick(): void {
    const hasTime = measureLoop()
    timer = setTimeout(() => {
      timer = undefined
      // Turns that wait for the disk leave single idle ticks between busy ones, so one busy tick ends the increase.
      perTick = hasTime() ? Math.min(highest, perTick * 2) : lowest
      refill()
      if (onTick()) scheduleTick()
    }, tick)
  }

  return {
    get mayStart() {
      if (left > perTick && isBusy()) left = perTick
      return left > 0
    },
    take() {
      left--
    },
    start() {
      if (timer !== undefined) return
      perTick = lowest
      wasIdle = true
      refill()
      scheduleTick()
    },
  }
}

/** Starts a measurement; the returned function says whether the event loop was idle enough since. */
function measureLoop(): () => boolean {
  const loop: LoopUtilization = performance
  const before = loop.eventLoopUtilization?.()
  const startedAt = performance.now()
  return () => {
    const used = before && loop.eventLoopUtilization?.(before)
    return used ? used.utilization < idleLimit.share : performance.now() - startedAt - tick < idleLimit.milliseconds
  }
}

/** Node's event loop utilization, which is more exact than the delay of a timer. */
interface LoopUtilization extends Pick<Performance, 'now'> {
  eventLoopUtilization?(since?: object): { readonly utilization: number }
}

interface SlotPool {
  /** Grants free slots to waiting requests; returns whether any slot is used or waited for. */
  grantWaiting(): boolean
  tryAcquire(host: string): boolean
  acquire(host: string, signal: AbortSignal): Promise<boolean>
  release(host: string): void
}

function createSlotPool(total: number, perHost: number, throttle?: StartThrottle): SlotPool {
  const usedByHost = new Map<string, number>()
  /** Waiting requests by host. The host that was served last comes last. */
  const waiting = new Map<string, (() => void)[]>()
  let used = 0

  const isFull = (): boolean => used >= total || throttle?.mayStart === false

  function tryAcquire(host: string): boolean {
    const usedHere = usedByHost.get(host) ?? 0
    if (isFull() || usedHere >= perHost) return false
    throttle?.take()
    used++
    usedByHost.set(host, usedHere + 1)
    return true
  }

  function grantWaiting(): boolean {
    for (const [host, queue] of waiting) {
      if (isFull()) break
      if (!tryAcquire(host)) continue
      const next = queue.shift()
      waiting.delete(host)
      if (queue.length > 0) waiting.set(host, queue)
      next?.()
    }
    return used > 0 || waiting.size > 0
  }

  return {
    grantWaiting,
    tryAcquire,
    acquire(host, signal) {
      if (signal.aborted) return Promise.resolve(false)
      if (!waiting.has(host) && tryAcquire(host)) return Promise.resolve(true)
      return new Promise((resolve) => {
        const queue = waiting.get(host) ?? []
        waiting.set(host, queue)
        const grant = () => {
          signal.removeEventListener('abort', cancel)
          resolve(true)
        }
        const cancel = () => {
          const at = queue.indexOf(grant)
          if (at >= 0) queue.splice(at, 1)
          if (queue.length === 0 && waiting.get(host) === queue) waiting.delete(host)
          resolve(false)
        }
        queue.push(grant)
        signal.addEventListener('abort', cancel, { once: true })
      })
    },
    release(host) {
      used--
      const usedHere = (usedByHost.get(host) ?? 1) - 1
      if (usedHere > 0) usedByHost.set(host, usedHere)
      else usedByHost.delete(host)
      grantWaiting()
    },
  }
}
