import { BodyTooLarge, type Exchange, type Incoming, type Outgoing } from './exchange.ts'

/**
 * Runs an exchange and answers also when it throws. That is a bug, so `onError` learns of it and the caller sees
 * nothing of it; only a body over the limit is the caller's own doing, and is named.
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
    // Who aborts because the caller has gone does as told.
    if (!incoming.signal.aborted) onError(error)
    return internalError
  }
}

export const internalError = plain(500, 'internal error')

function plain(status: number, error: string): Outgoing {
  return { status, headers: { 'content-type': 'application/json' }, body: JSON.stringify({ error }) }
}
