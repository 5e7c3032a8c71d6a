import { anonymous } from '../protocol/model.ts'
import type { CallWithTimeout } from './resilience/resilient-service.ts'
import type { SendOptions } from './send-request.ts'

const never = new AbortController().signal

/** Who calls is told by credentials, which the wire has; the service behind it asks nobody else. */
export function callOf({ signal = never, timeout, headers, idempotencyKey }: SendOptions = {}): CallWithTimeout {
  return { principal: anonymous, signal, timeout, headers, idempotencyKey }
}
