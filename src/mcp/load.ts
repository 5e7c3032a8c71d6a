/** Loaded for those who use it. */
export async function loadMcp(): Promise<typeof import('@modelcontextprotocol/server')> {
  return await orMissing(() => import('@modelcontextprotocol/server'))
}

export async function loadStdio(): Promise<typeof import('@modelcontextprotocol/server/stdio')> {
  return await orMissing(() => import('@modelcontextprotocol/server/stdio'))
}

async function orMissing<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    const problem =
      'mcpServer() needs the package @modelcontextprotocol/server: npm install @modelcontextprotocol/server'
    throw new Error(problem, { cause })
  }
}
