import { A2AError } from './errors.ts'

/** What is loaded when it is needed, or an error that says what could not be done without it. */
export async function loaded<T>(purpose: string, loading: Promise<T>, reason = 'not-loaded'): Promise<T> {
  try {
    return await loading
  } catch (cause) {
    throw new A2AError('unavailable', `What is needed to ${purpose} could not be loaded.`, { cause, reason })
  }
}

/** Loads a package that only some users have, or says which one is missing, and for what. */
export async function importOptional<T>(load: () => Promise<T>, user: string, name: string): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new Error(`${user} needs the package ${name}: npm install ${name}`, { cause })
  }
}
