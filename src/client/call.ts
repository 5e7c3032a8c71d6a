import { anonymous } from '../protocol/model.ts'
import type { CallOptions } from './options.ts'
import type { TimedCall } from './talk.ts'

/** Who calls is told by credentials, which the wire has; the service behind it asks nobody else. */
export function callOf({ signal = never, timeout }: CallOptions = {}): TimedCall {
  return { principal: anonymous, signal, ...(timeout !== undefined && { timeout }) }
}

const never = new AbortController().signal
