import { CallFailed } from '../agent/call-failed.ts'
import { A2AError } from '../protocol/errors.ts'

/**
 * What a caller may read about an error that an agent threw. Only an `A2AError` is written for callers; anything else
 * may hold secrets, so the caller gets a reference under which the operator finds it in the log.
 */
export function describeFailure(error: unknown): { readonly text: string; readonly reference: string } {
  const reference = crypto.randomUUID().slice(0, 8)
  return { text: textFor(error) ?? `The agent failed unexpectedly (reference ${reference}).`, reference }
}

function textFor(error: unknown): string | undefined {
  if (error instanceof CallFailed) return error.callerText
  return error instanceof A2AError ? error.message : undefined
}
