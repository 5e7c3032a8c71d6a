import { retryAfterOverload } from '../http/load.ts'
import { A2AError } from '../protocol/errors.ts'

/** What callers are told when the server has too much to do. Nothing of the call was done. */
export function overloaded(cause?: unknown): A2AError {
  const text = 'This server has too much to do just now: try again in a moment.'
  return new A2AError('unavailable', text, { cause, retryAfter: retryAfterOverload, metadata: { reason: 'overload' } })
}
