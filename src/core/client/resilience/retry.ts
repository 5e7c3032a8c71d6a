import { type Backoff, delayAfter } from '../../base/backoff.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import { neverConnected, permanentFailures } from '../../http/network-failure.ts'
import { A2AError, withContext } from '../../protocol/errors.ts'
import type { UnaryOperation } from '../../protocol/service.ts'

/** The longest delay in milliseconds that an agent may request; no call waits longer. */
const maxRetryAfter = 60_000

/** What is known of the agent beyond its card. Calls add to it. */
export interface PeerCapabilities {
  /** Whether the agent treats two sends of one message under one idempotency key as one. */
  deduplicates(): boolean
  /** Whether the agent answers with streams, as far as is known. */
  streams(): boolean
  /** Whether its streams always begin anew, even if the agent numbers its events. */
  cannotResume(): boolean
  update(facts: { readonly numbersEvents?: boolean; readonly streams?: boolean }): void
}

/** Whether the operation may run twice without harm. */
export function isRepeatable(operation: UnaryOperation, peer: PeerCapabilities): boolean {
  switch (operation) {
    case 'getTask':
    case 'listTasks':
    case 'getPushConfig':
    case 'listPushConfigs':
    case 'deletePushConfig':
    case 'getExtendedCard':
      return true
    case 'sendMessage':
      return peer.deduplicates()
    // The second cancel would be rejected, and the second config may be one more.
    case 'cancelTask':
    case 'createPushConfig':
      return false
  }
}

export interface RetryOptions {
  readonly backoff: Backoff
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly mayRetry: (error: A2AError) => boolean
  /** Whether a call whose connection broke is repeated until the signal aborts: a server that restarts comes back. */
  readonly untilAborted?: boolean
}

/** Repeats a failed attempt until it succeeds, must not be repeated, or has failed too often. Honours `Retry-After`. */
export async function retry<T>(attempt: () => Promise<T>, firstError: unknown, options: RetryOptions): Promise<T> {
  const { backoff, signal, clock, mayRetry, untilAborted = false } = options
  let error = firstError
  let isBroken = false
  for (let failures = 1; ; failures++) {
    isBroken ||= untilAborted && error instanceof A2AError && error.reason === 'connection-lost'
    const isOver = signal.aborted || (failures >= backoff.tries && !isBroken)
    if (isOver || !(error instanceof A2AError) || !mayRetry(error) || exceedsRetryAfter(error)) throw error
    await sleep(retryDelay(error, failures, backoff), signal, clock)
    requireTime(signal, error)
    try {
      return await attempt()
    } catch (thrown) {
      error = thrown
    }
  }
}

/** Throws the reason of a deadline that has passed, with the failure that the last attempt had. */
export function requireTime({ reason }: AbortSignal, failure: A2AError): void {
  if (!(reason instanceof A2AError)) return
  throw withContext(reason, { message: `${reason.message} ${failure.message}`, cause: failure })
}

/** The delays between attempts of a call, with the defaults applied. */
export function retryBackoff(options: Partial<Backoff> | undefined): Backoff {
  return { tries: 3, minDelay: 250, maxDelay: 5_000, ...options }
}

/** Milliseconds to wait before the next attempt. */
export function retryDelay({ retryAfter = 0 }: A2AError, failures: number, backoff: Backoff): number {
  return Math.max(retryAfter * 1000, delayAfter(failures, backoff))
}

/** Whether the agent requests a longer delay than a call waits. The caller finds it in the error. */
export function exceedsRetryAfter({ retryAfter = 0 }: A2AError): boolean {
  return retryAfter * 1000 > maxRetryAfter
}

/** Whether a repeated call may succeed. */
export function isTransient({ code, reason = '', metadata }: A2AError): boolean {
  if (permanentFailures.has(reason) || ['aborted', 'deadline', 'not-followed'].includes(reason)) return false
  // The next attempt has new credentials, if the caller has any. If not, it is rejected without this reason.
  if (code === 'unauthenticated') return metadata.reason === 'credentials-expired'
  return code === 'unavailable' || code === 'rate-limited' || code === 'timeout'
}

/** Whether a repeated call may succeed and the agent has not begun to work on this one. */
export function isUnsent(error: A2AError): boolean {
  if (!isTransient(error)) return false
  const { code, reason = '', retryAfter } = error
  if (neverConnected.has(reason) || reason === 'not-loaded' || code === 'rate-limited') return true
  // An agent that rejects a call says when to call again.
  return code === 'unavailable' && retryAfter !== undefined && reason !== 'connection-lost'
}

/** The error for a send that cannot be repeated without the risk that the agent runs it twice. */
export function mayHaveRun(failure: A2AError): A2AError {
  return withContext(failure, {
    message: `${failure.message} The message may have reached the agent all the same.`,
    cause: failure,
    metadata: { mayHaveRun: 'true' },
    // If a proxy has answered, the proxy is what has to be fixed.
    reason: failure.reason === 'gateway' ? 'gateway' : 'may-have-run',
  })
}
