import type { ConcurrencyOptions } from '../options.ts'

/** Milliseconds from one look to the next. */
const beat = 20

/** Up to which share of its time the loop may be at work, or how late it may be where that is not told. */
const spare = { share: 0.7, milliseconds: 4 }

/** So many set out even then, so that a process that is always busy tells at least a hundred a second. */
const least = 2

/** So many slow receivers are remembered. */
const maxSuspects = 10_000

export interface LanesOptions extends Pick<Required<ConcurrencyOptions>, 'total' | 'perHost' | 'slow'> {
  /** How long a request may take before it is slow, in milliseconds. */
  readonly slowAfter?: number
  /** Whether this process has something to do that comes first. */
  readonly isBusy?: () => boolean
}

export interface Slot {
  /** The request is over. */
  leave(): void
}

/**
 * How many requests are on their way at once, in all and to each host. A request that waits long for its answer leaves
 * its place to others and goes on in the slow lane, which has places of its own: so receivers that hang are in the way
 * of nobody else. Who was slow last begins in the slow lane.
 */
export interface DeliverySlots {
  /** Resolves when there is a place for a request to this host; undefined if the signal aborts first. */
  enter(host: string, receiver: string, signal: AbortSignal): Promise<Slot | undefined>
}

export function createDeliverySlots(options: LanesOptions): DeliverySlots {
  const { total, perHost, slow, slowAfter = 500, isBusy = () => false } = options
  const pace = createStartThrottle({ total, isBusy, onBeat: () => fast.admit() })
  const fast: Lane = createLane(total, perHost, pace)
  const slowLane = createLane(slow, Math.max(perHost, Math.ceil(slow / 8)))
  const suspects = new Set<string>()

  function suspect(receiver: string): void {
    suspects.delete(receiver)
    suspects.add(receiver)
    for (const oldest of suspects) {
      if (suspects.size <= maxSuspects) break
      suspects.delete(oldest)
    }
  }

  return {
    async enter(host, receiver, signal) {
      pace.begin()
      let lane = suspects.has(receiver) ? slowLane : fast
      if (!(await lane.enter(host, signal))) return undefined
      let isSlow = false
      const timer = setTimeout(() => {
        isSlow = true
        suspect(receiver)
        if (lane === slowLane || !slowLane.tryEnter(host)) return
        lane.leave(host)
        lane = slowLane
      }, slowAfter)
      return {
        leave() {
          clearTimeout(timer)
          if (!isSlow) suspects.delete(receiver)
          lane.leave(host)
        },
      }
    },
  }
}

export interface PaceOptions {
  /** So many set out in one beat at the most while there are turns at work. */
  readonly total: number
  /** Whether there are turns at work. */
  readonly isBusy: () => boolean
  /** There are new starts; whether anything is waiting or on its way still. */
  readonly onBeat: () => boolean
}

/**
 * How many requests may set out, given what else this process has to do. Turns come first: while they keep the event
 * loop busy, requests are held back until it breathes again, whether their receivers answer at once or never. Nothing
 * is lost by that, for what is to be told lies in the log.
 */
export interface StartThrottle {
  /** Whether one more may set out in this beat. */
  readonly mayStart: boolean
  /** Takes one of the starts of this beat. */
  take(): void
  /** Requests are waiting or on their way: the loop is watched from now on. */
  begin(): void
}

export function createStartThrottle({ total, isBusy, onBeat }: PaceOptions): StartThrottle {
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
    get mayStart() {
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

/** As Node has it, which is more exact than to see how late a timer is. */
interface Utilized extends Pick<Performance, 'now'> {
  eventLoopUtilization?(since?: object): { readonly utilization: number }
}

interface Lane {
  /** Lets in who may; whether anybody is there or waits. */
  admit(): boolean
  tryEnter(host: string): boolean
  enter(host: string, signal: AbortSignal): Promise<boolean>
  leave(host: string): void
}

function createLane(total: number, perHost: number, pace?: StartThrottle): Lane {
  const inside = new Map<string, number>()
  /** Those who wait, by host; the host that was served last is the last. */
  const waiting = new Map<string, (() => void)[]>()
  let all = 0

  const isFull = (): boolean => all >= total || pace?.mayStart === false

  function tryEnter(host: string): boolean {
    const here = inside.get(host) ?? 0
    if (isFull() || here >= perHost) return false
    pace?.take()
    all++
    inside.set(host, here + 1)
    return true
  }

  function admit(): boolean {
    for (const [host, queue] of waiting) {
      if (isFull()) break
      if (!tryEnter(host)) continue
      const next = queue.shift()
      waiting.delete(host)
      if (queue.length > 0) waiting.set(host, queue)
      next?.()
    }
    return all > 0 || waiting.size > 0
  }

  return {
    admit,
    tryEnter,
    enter(host, signal) {
      if (signal.aborted) return Promise.resolve(false)
      if (!waiting.has(host) && tryEnter(host)) return Promise.resolve(true)
      return new Promise((resolve) => {
        const queue = waiting.get(host) ?? []
        waiting.set(host, queue)
        const enter = () => {
          signal.removeEventListener('abort', leave)
          resolve(true)
        }
        const leave = () => {
          const at = queue.indexOf(enter)
          if (at >= 0) queue.splice(at, 1)
          if (queue.length === 0 && waiting.get(host) === queue) waiting.delete(host)
          resolve(false)
        }
        queue.push(enter)
        signal.addEventListener('abort', leave, { once: true })
      })
    },
    leave(host) {
      all--
      const here = (inside.get(host) ?? 1) - 1
      if (here > 0) inside.set(host, here)
      else inside.delete(host)
      admit()
    },
  }
}
