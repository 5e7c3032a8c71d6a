import { A2AError } from './errors.ts'

/** What is loaded when it is needed, or an error that says what could not be done without it. */
export async function loaded<T>(purpose: string, loading: Promise<T>, reason = 'not-loaded'): Promise<T> {
  try {
    return await loading
  } catch (cause) {
    throw new A2AError('unavailable', `What is needed to ${purpose} could not be loaded.`, { cause, reason })
  }
}
