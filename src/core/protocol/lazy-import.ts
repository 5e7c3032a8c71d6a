/** Imports an optional package. If it is not installed, throws an error that names the package and `user`, which needs it. */
export async function importOptional<T>(load: () => Promise<T>, user: string, name: string): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    throw new Error(`${user} needs the package ${name}: npm install ${name}`, { cause })
  }
}
