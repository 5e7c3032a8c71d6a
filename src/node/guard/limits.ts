/** What an answer may cost. Times are in milliseconds. */
export interface GuardLimits {
  /** Until there is a connection, with TLS. 10 seconds by default. */
  readonly connectTimeout?: number
  /** Until the head of the answer is there. Agents may think long: 5 minutes by default. */
  readonly headersTimeout?: number
  /** For which a reader waits for the next bytes. 5 minutes by default. */
  readonly idleTimeout?: number
  /** For the whole answer, unless a stream of events was asked for. 10 minutes by default. */
  readonly totalTimeout?: number
  /** Bytes of an answer, unpacked, unless a stream of events was asked for. 64 MiB by default. */
  readonly maxBytes?: number
}

export function limitsOf(given: GuardLimits, isStream: boolean): Required<GuardLimits> {
  const { connectTimeout = 10_000, headersTimeout = 300_000, idleTimeout = 300_000 } = given
  const { totalTimeout = 600_000, maxBytes = 64 * 2 ** 20 } = given
  const whole = isStream ? { totalTimeout: Number.POSITIVE_INFINITY, maxBytes: Number.POSITIVE_INFINITY } : {}
  return { connectTimeout, headersTimeout, idleTimeout, totalTimeout, maxBytes, ...whole }
}

/** A timer that may be set to infinity; gives what clears it. */
export function after(milliseconds: number, act: () => void): () => void {
  if (milliseconds >= 2 ** 31) return () => {}
  // The connection keeps the process alive, and if there is none, nothing needs to.
  const timer = setTimeout(act, milliseconds).unref()
  return () => clearTimeout(timer)
}
