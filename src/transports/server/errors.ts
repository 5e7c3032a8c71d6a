import type { Incoming } from '../../http/exchange.ts'
import { A2AError } from '../../protocol/errors.ts'

export interface Reporting {
  /** Of the caller: once it has gone, its errors are mostly that it has gone, and concern nobody. */
  readonly signal: AbortSignal
  /** Gets what must not be shown to a caller. */
  readonly onError: (error: unknown, incoming?: Pick<Incoming, 'header'>) => void
  /** Which call it was. */
  readonly incoming?: Pick<Incoming, 'header'>
}

/** What a caller may know of an error. */
export function callerError(error: unknown, { signal, onError, incoming }: Reporting): A2AError {
  if (error instanceof A2AError) return error
  if (!signal.aborted) onError(error, incoming)
  return new A2AError('internal', 'Internal error', { cause: error })
}

/** What HTTP itself says of an error, beside its status. */
export function refusalHeaders({ retryAfter, challenge }: A2AError): Readonly<Record<string, string>> {
  return {
    ...(retryAfter !== undefined && { 'retry-after': `${Math.ceil(retryAfter)}` }),
    ...(challenge !== undefined && { 'www-authenticate': challenge }),
  }
}
