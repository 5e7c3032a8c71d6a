import { A2AError, inContext } from '../protocol/errors.ts'
import type { Situation } from './hints.ts'
import { onTrouble } from './on-trouble.ts'

/**
 * The error again, with the mistake that it is a sign of and what to do about it, as far as that can be told. Where the
 * words cannot be had, the error has to do without.
 */
export async function diagnose(error: unknown, situation: Situation): Promise<A2AError> {
  const failure = error instanceof A2AError ? error : unexpected(error)
  if (failure.hint !== undefined) return failure
  const words = await onTrouble()
  return words ? inContext(failure, words.explain(failure, situation)) : failure
}

function unexpected(error: unknown): A2AError {
  const text = error instanceof Error ? error.message : `${error}`
  return new A2AError('internal', `The call failed in the client: ${text}`, { cause: error, reason: 'client' })
}
