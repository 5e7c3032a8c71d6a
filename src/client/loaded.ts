import { A2AError } from '../protocol/errors.ts'

/** What is loaded when it is needed, or an error that says what could not be done without it. */
export async function loaded<T>(purpose: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    throw new A2AError('unavailable', `What is needed to ${purpose} could not be loaded.`, {
      cause,
      reason: 'not-loaded',
    })
  }
}
