import { A2AError } from '../protocol/errors.ts'
import { loaded } from '../protocol/loaded.ts'

/** Loaded when something fails: most calls do not. */
export function failures(): Promise<typeof import('./failures.ts')> {
  return loaded('tell why the call failed', import('./failures.ts'), 'unexplained')
}

/** What was thrown between a request and the end of its answer, as the one error that callers see. */
export async function failureOf(error: unknown, url: string, signal: AbortSignal): Promise<A2AError> {
  if (error instanceof A2AError) return error
  try {
    const { lostAnswer } = await failures()
    return lostAnswer(error, url, signal)
  } catch (unexplained) {
    return unexplained as A2AError
  }
}
