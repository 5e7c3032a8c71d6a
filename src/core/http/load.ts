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
  /**
   * Bytes of large responses that callers have not read yet. One caller may hold a quarter of them. A response for which
   * there is no room becomes 503; short responses and callers that read are not affected.
   */
  readonly responseBytes: number
}

export interface LoadOptions extends LoadLimits {
  /** Share of the usable memory that is in use: 1 is all of it. */
  readonly memory: () => number
}

/** Current resource usage. */
export interface LoadState {
  readonly requests: number
  readonly bodyBytes: number
  readonly responseBytes: number
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
  /**
   * Counts a large response until it is released. Returns undefined if there is no room for it. A text that several
   * responses share counts once, but for each of their callers. A response that is too large for the limit has room while
   * there is no other.
   */
  reserve(response: LargeResponse, caller: string): (() => void) | undefined
  /** Whether the server should refuse another call. */
  isOverloaded(): boolean
  /** Reports when an overload begins and when it has passed. Returns a function that removes the listener. */
  watch(listener: (isOverloaded: boolean, state: LoadState) => void): () => void
  /** Stops the memory checks. */
  stop(): void
}

/** A response that is held until its caller has read it. Its identity shows which responses share it. */
export interface LargeResponse {
  readonly bytes: number
}

/** The share of `responseBytes` that one caller may hold. */
const callerShare = 1 / 4

export function createLoad({ requests, bodyBytes, responseBytes, memory }: LoadOptions): Load {
  const responses = createHeldResponses(responseBytes)
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
      notify(isReported, {
        requests: activeRequests,
        bodyBytes: heldBytes,
        responseBytes: responses.bytes(),
        memory: memoryUse,
      })
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
    reserve(response, caller) {
      check()
      return responses.reserve(response, caller)
    },
    isOverloaded: isOverloaded,
    watch(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    stop: () => clearInterval(timer),
  }
}

function createHeldResponses(limit: number) {
  /** How many callers wait for a response. */
  const readers = new Map<LargeResponse, number>()
  const bytesOfCallers = new Map<string, number>()
  let total = 0

  return {
    bytes: () => total,
    reserve(response: LargeResponse, caller: string): (() => void) | undefined {
      const count = readers.get(response) ?? 0
      const held = bytesOfCallers.get(caller) ?? 0
      const added = count === 0 ? response.bytes : 0
      if (total > 0 && total + added > limit) return undefined
      if (held > 0 && held + response.bytes > limit * callerShare) return undefined
      total += added
      readers.set(response, count + 1)
      bytesOfCallers.set(caller, held + response.bytes)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        if (!decrease(readers, response, 1)) total -= response.bytes
        decrease(bytesOfCallers, caller, response.bytes)
      }
    },
  }
}

/** Returns what is left. An entry without anything left is removed. */
function decrease<K>(amounts: Map<K, number>, key: K, amount: number): number {
  const left = (amounts.get(key) ?? 0) - amount
  if (left > 0) amounts.set(key, left)
  else amounts.delete(key)
  return left
}

/** The server stopped reading a body because it is overloaded. */
export class Overloaded extends Error {
  override readonly name = 'Overloaded'
  constructor() {
    super('the server has no room for this body just now')
  }
}
