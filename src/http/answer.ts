import { BodyTooLarge, type Exchange, type Incoming, type Outgoing } from './exchange.ts'
import { Overloaded, retryAfterOverload } from './load.ts'

/**
 * Runs an exchange and answers also when it throws. That is a bug, so `onError` learns of it and the caller sees
 * nothing of it; only a body for which there is no room is named.
 */
export async function answer(
  exchange: Exchange,
  incoming: Incoming,
  onError: (error: unknown) => void,
): Promise<Outgoing> {
  try {
    return await exchange(incoming)
  } catch (error) {
    if (error instanceof BodyTooLarge) return plain(413, error.message)
    if (error instanceof Overloaded) return plain(503, error.message, { 'retry-after': `${retryAfterOverload}` })
    // Who aborts because the caller has gone does as told.
    if (!incoming.signal.aborted) onError(error)
    return internalError
  }
}

export const internalError = plain(500, 'internal error')

function plain(status: number, error: string, headers: Outgoing['headers'] = {}): Outgoing {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify({ error }) }
}
