import { BoundedMap } from '../../base/bounded-map.ts'
import type { ConcurrencyOptions } from '../options.ts'
import { createStartThrottle, type StartThrottle } from './throttle.ts'

/**
 * How long a webhook may keep its slot for further requests, in milliseconds. To send several events in a row takes one
 * read of the log, one connection and one checkpoint.
 */
const maxHoldTime = 400

/** Number of slow receivers that are remembered. */
const maxSlowReceivers = 10_000

export interface DeliverySlotsOptions extends Pick<Required<ConcurrencyOptions>, 'total' | 'perHost' | 'slow'> {
  /** Duration after which a request counts as slow, in milliseconds. */
  readonly slowAfter?: number
  /** Whether this process has work that takes priority. */
  readonly isBusy?: () => boolean
}

export interface Slot {
  /**
   * Resolves when the next request to the same receiver may start in this slot. False if the slot has to be released
   * first, because the receiver is slow or others wait, or if the signal aborts.
   */
  next(signal: AbortSignal): Promise<boolean>
  /** Called when the last request has ended. */
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
  /**
   * The number of requests that wait for a slot. Requests to slow receivers, and those beyond the limit of their host, are
   * not counted: they do not delay others.
   */
  waiting(): number
}

export function createDeliverySlots(options: DeliverySlotsOptions): DeliverySlots {
  const { total, perHost, slow, slowAfter = 500, isBusy = () => false } = options
  const throttle = createStartThrottle({ total, isBusy, onTick: () => fastPool.grantWaiting() })
  const fastPool: SlotPool = createSlotPool(total, perHost, throttle)
  const slowPool = createSlotPool(slow, Math.max(perHost, Math.ceil(slow / 8)))
  const slowReceivers = new BoundedMap<string, true>(maxSlowReceivers)

  function hold(host: string, receiver: string, acquired: SlotPool): Slot {
    const heldUntil = performance.now() + maxHoldTime
    let pool = acquired
    let isSlow = false
    let timer = setTimeout(onSlow, slowAfter)

    function onSlow(): void {
      isSlow = true
      slowReceivers.set(receiver, true)
      if (pool === slowPool || !slowPool.tryAcquire(host)) return
      pool.release(host)
      pool = slowPool
    }

    function endRequest(): void {
      clearTimeout(timer)
      if (!isSlow) slowReceivers.delete(receiver)
    }

    return {
      async next(signal) {
        endRequest()
        if (isSlow || pool === slowPool || performance.now() > heldUntil) return false
        if (!(await throttle.next(signal))) return false
        timer = setTimeout(onSlow, slowAfter)
        return true
      },
      release() {
        endRequest()
        pool.release(host)
      },
    }
  }

  return {
    async acquire(host, receiver, signal) {
      throttle.start()
      const pool = slowReceivers.has(receiver) ? slowPool : fastPool
      return (await pool.acquire(host, signal)) ? hold(host, receiver, pool) : undefined
    },
    waiting: fastPool.waiting,
  }
}

interface SlotPool {
  /** Grants free slots to waiting requests; returns whether any slot is used or waited for. */
  grantWaiting(): boolean
  tryAcquire(host: string): boolean
  acquire(host: string, signal: AbortSignal): Promise<boolean>
  release(host: string): void
  /** The number of requests that wait, at most `perHost` of each host. */
  waiting(): number
}

function createSlotPool(total: number, perHost: number, throttle?: StartThrottle): SlotPool {
  const usedByHost = new Map<string, number>()
  /** Waiting requests by host. The host that was served last comes last. */
  const waiting = new Map<string, (() => void)[]>()
  let used = 0
  let waitingCount = 0

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
      if (queue.length < perHost) waitingCount--
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
          if (queue.length < perHost) waitingCount--
          if (queue.length === 0 && waiting.get(host) === queue) waiting.delete(host)
          resolve(false)
        }
        queue.push(grant)
        if (queue.length <= perHost) waitingCount++
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
    waiting: () => waitingCount,
  }
}
