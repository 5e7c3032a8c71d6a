import { A2AError } from '../protocol/errors.ts'

/** Loaded when something fails: most calls do not. */
export async function failures(): Promise<typeof import('./failures.ts')> {
  try {
    return await import('./failures.ts')
  } catch (cause) {
    const problem = 'The call failed, and what is needed to tell why could not be loaded.'
    throw new A2AError('unavailable', problem, { cause, reason: 'unexplained' })
  }
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
