/** Interval of memory checks in milliseconds: one timer for all requests. */
const checkInterval = 100

/**
 * Body bytes and requests that may arrive between two memory checks. Above half of the memory, every request checks.
 */
const maxUncheckedBytes = 2 ** 20

const maxUncheckedRequests = 16

/** An overload has passed after this many consecutive checks without one, because it comes and goes. */
const calmChecksNeeded = 10

/** Seconds after which a refused caller may try again. */
export const retryAfterOverload = 1

export interface LoadLimits {
  /** Concurrent requests, including streams. */
  readonly requests: number
  /** Bytes of request bodies held at once. */
  readonly bodyBytes: number
}

export interface LoadOptions extends LoadLimits {
  /** Share of the usable memory that is in use: 1 is all of it. */
  readonly memory: () => number
}

/** Current resource usage. */
export interface LoadState {
  readonly requests: number
  readonly bodyBytes: number
  readonly memory: number
}

/**
 * Tracks how busy a server is, so that it can refuse work before it runs out of memory. The listener counts; handlers
 * check before they read a call. Costs no more than an addition per request.
 */
export interface Load {
  /** A request has arrived. */
  begin(): void
  /** A request has ended; releases the bytes of its body. */
  end(taken: number): void
  /** Counts bytes of a body that is being read. Returns false if they exceed the limit. */
  take(bytes: number): boolean
  /** Whether the server should refuse another call. */
  isOverloaded(): boolean
  /** Reports when an overload begins and when it has passed. Returns a function that removes the listener. */
  watch(listener: (isOverloaded: boolean, state: LoadState) => void): () => void
  /** Stops the memory checks. */
  stop(): void
}

export function createLoad({ requests, bodyBytes, memory }: LoadOptions): Load {
  const listeners = new Set<Parameters<Load['watch']>[0]>()
  let activeRequests = 0
  let heldBytes = 0
  let bytesSince = 0
  let requestsSince = 0
  let memoryUse = memory()
  let isReported = false
  let calmChecks = 0

  const isOverloaded = (): boolean => memoryUse >= 1 || activeRequests > requests || heldBytes >= bodyBytes

  function check(): void {
    bytesSince = 0
    requestsSince = 0
    memoryUse = memory()
    calmChecks = isOverloaded() ? 0 : calmChecks + 1
    if (isReported ? calmChecks < calmChecksNeeded : calmChecks > 0) return
    isReported = !isReported
    for (const notify of [...listeners])
      notify(isReported, { requests: activeRequests, bodyBytes: heldBytes, memory: memoryUse })
  }
  const timer = setInterval(check, checkInterval)
  timer.unref()

  return {
    begin() {
      activeRequests++
      requestsSince++
      if (memoryUse > 0.5 || requestsSince >= maxUncheckedRequests) check()
    },
    end(taken) {
      activeRequests--
      heldBytes -= taken
    },
    take(bytes) {
      heldBytes += bytes
      bytesSince += bytes
      if (bytesSince >= maxUncheckedBytes) check()
      return heldBytes <= bodyBytes
    },
    isOverloaded: isOverloaded,
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: () => clearInterval(timer),
  }
}

/** The server stopped reading a body because it is overloaded. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
  constructor() {
    super('the server has no room for this body just now')
  }
}
