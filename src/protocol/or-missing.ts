/** Loads a package that only some users have, or says which one is missing, and for what. */
export async function orMissing<T>(load: () => Promise<T>, user: string, name: string): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new Error(`${user} needs the package ${name}: npm install ${name}`, { cause })
  }
}
