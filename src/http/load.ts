/** Milliseconds between two looks at the memory at the most: one timer for all requests. */
const interval = 100

/** So many bytes of bodies, and so many requests, may come between two looks. From half of the memory on, one. */
const unseenBytes = 2 ** 20

const unseenRequests = 16

/** It comes and goes: it has passed when so many looks in a row have found room. */
const calmLooks = 10

/** Seconds after which a refused caller may try again. */
export const retryAfterOverload = 1

export interface LoadLimits {
  /** Requests at work at once, streams among them. */
  readonly requests: number
  /** Bytes of bodies that are held at once. */
  readonly bodyBytes: number
}

export interface LoadOptions extends LoadLimits {
  /** How much of the memory that may be used is in use: 1 is all of it. */
  readonly memory: () => number
}

/** What is in use. */
export interface Standing {
  readonly requests: number
  readonly bodyBytes: number
  readonly memory: number
}

/**
 * How much a server is doing, so that it can refuse work before it runs out of memory. Counted by whoever holds the
 * port; asked, before a call is read, by whoever answers. Nothing of it takes more than an addition per request.
 */
export interface Load {
  /** A request has come. */
  begin(): void
  /** It is over, with so many bytes of its body taken. */
  end(taken: number): void
  /** Takes bytes of a body that is being read. False if there is no room for them. */
  take(bytes: number): boolean
  /** Whether there is no room for the work of one more call. */
  isOver(): boolean
  /** Tells when there begins to be no room, and when that has passed; until it is called back. */
  watch(listener: (isOver: boolean, standing: Standing) => void): () => void
  /** Stops looking at the memory. */
  stop(): void
}

export function createLoad({ requests, bodyBytes, memory }: LoadOptions): Load {
  const listeners = new Set<Parameters<Load['watch']>[0]>()
  let active = 0
  let held = 0
  let bytesSince = 0
  let requestsSince = 0
  let used = memory()
  let isTold = false
  let calm = 0

  const isOver = (): boolean => used >= 1 || active > requests || held >= bodyBytes

  function look(): void {
    bytesSince = 0
    requestsSince = 0
    used = memory()
    calm = isOver() ? 0 : calm + 1
    if (isTold ? calm < calmLooks : calm > 0) return
    isTold = !isTold
    for (const tell of [...listeners]) tell(isTold, { requests: active, bodyBytes: held, memory: used })
  }
  const timer = setInterval(look, interval)
  timer.unref()

  return {
    begin() {
      active++
      requestsSince++
      if (used > 0.5 || requestsSince >= unseenRequests) look()
    },
    end(taken) {
      active--
      held -= taken
    },
    take(bytes) {
      held += bytes
      bytesSince += bytes
      if (bytesSince >= unseenBytes) look()
      return held <= bodyBytes
    },
    isOver,
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: () => clearInterval(timer),
  }
}

/** A body is not read to its end, because the server has no room for it. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
  constructor() {
    super('the server has no room for this body just now')
  }
}
