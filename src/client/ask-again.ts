import type { UnaryOperation } from '../dialects/dialect.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Backoff } from './backoff.ts'
import type { Peer } from './peer.ts'
import { isTransient, isUnsent, mayHaveRun, type RetryOptions, retryBackoff, retrying } from './retry.ts'

export interface Asked extends Pick<RetryOptions, 'signal' | 'clock'> {
  readonly retry?: Partial<Backoff>
  readonly operation: UnaryOperation
  readonly peer: Peer
}

/** Asks once more what has failed, if that can do no harm. */
export async function askAgain<T>(attempt: () => Promise<T>, failure: unknown, asked: Asked): Promise<T> {
  const { operation, peer, signal, clock } = asked
  const backoff = retryBackoff(asked.retry)
  const isWorthIt = (error: A2AError) => isUnsent(error) || (isTransient(error) && mayRepeat(operation, peer))
  try {
    return await retrying(attempt, failure, { backoff, signal, clock, isWorthIt })
  } catch (error) {
    const isLost = operation === 'sendMessage' && error instanceof A2AError && isTransient(error) && !isWorthIt(error)
    throw isLost ? mayHaveRun(error) : error
  }
}

/** Whether it does no harm if it is done twice. */
function mayRepeat(operation: UnaryOperation, peer: Peer): boolean {
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
    // Done already, it would be refused, and a second config may be one more.
    case 'cancelTask':
    case 'createPushConfig':
      return false
  }
}
