import { type Backoff, delayAfter } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { isBeforeSending, type NetworkFailure } from '../../http/network-failure.ts'
import { A2AError } from '../../protocol/errors.ts'

const longestWait = 60_000

export interface RetryOptions {
  readonly backoff: Backoff
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Whether what failed so may be tried again. */
  readonly isWorthIt: (error: A2AError) => boolean
}

/**
 * Tries again what has failed, until it works, makes no sense, or has been tried often enough. A pause that the agent
 * asks for is kept.
 */
export async function retrying<T>(attempt: () => Promise<T>, failure: unknown, options: RetryOptions): Promise<T> {
  const { backoff, signal, clock, isWorthIt } = options
  let error = failure
  for (let failures = 1; ; failures++) {
    const isOver = failures >= backoff.tries || signal.aborted
    if (isOver || !(error instanceof A2AError) || !isWorthIt(error)) throw error
    if (asksForTooLong(error)) throw error
    await sleep(pauseAfter(error, failures, backoff), signal, clock)
    try {
      return await attempt()
    } catch (again) {
      error = again
    }
  }
}

/** How calls are tried again, unless their caller says otherwise. */
export function retryBackoff(given: Partial<Backoff> | undefined): Backoff {
  return { tries: 3, minDelay: 250, maxDelay: 5_000, ...given }
}

/** Nobody has begun to work on it: it never arrived, or was turned away at the door. */
export function isUnsent(error: A2AError): boolean {
  if (!isTransient(error)) return false
  const { code, reason, retryAfter } = error
  if (reason === 'not-loaded') return true
  if (reason !== undefined && networkFailures.has(reason)) return isBeforeSending(reason as NetworkFailure)
  return code === 'rate-limited' || (code === 'unavailable' && retryAfter !== undefined)
}

/** What cannot be sent again without the risk that it is done twice. */
export function mayHaveRun(failure: A2AError): A2AError {
  const { code, message, url, status, dialect, binding } = failure
  return new A2AError(code, `${message} The message may have reached the agent all the same.`, {
    cause: failure,
    metadata: { mayHaveRun: 'true' },
    // Where a proxy has answered, that is what is to be put right.
    reason: failure.reason === 'gateway' ? 'gateway' : 'may-have-run',
    url,
    status,
    dialect,
    binding,
  })
}

/** Nobody waits that long in a call; whoever does knows from the error how long. */
export function asksForTooLong({ retryAfter = 0 }: A2AError): boolean {
  return retryAfter * 1000 > longestWait
}

/** Milliseconds. */
export function pauseAfter({ retryAfter = 0 }: A2AError, failures: number, backoff: Backoff): number {
  return Math.max(retryAfter * 1000, delayAfter(failures, backoff))
}

/** It may work the next time, if the question can be asked twice. */
export function isTransient({ code, reason }: A2AError): boolean {
  if (reason === 'aborted' || reason === 'deadline' || isHopeless(reason)) return false
  return code === 'unavailable' || code === 'rate-limited' || code === 'timeout'
}

function isHopeless(reason: string | undefined): boolean {
  return hopeless.has(reason ?? '')
}

const hopeless: ReadonlySet<string> = new Set<NetworkFailure>([
  'certificate',
  'not-tls',
  'bad-url',
  'redirect-loop',
  'guarded',
])

const networkFailures: ReadonlySet<string> = new Set<NetworkFailure>([
  'connection-refused',
  'name-not-found',
  'host-unreachable',
  'connection-lost',
  'not-http',
  'blocked',
])
