/** Loaded for those who use it: who has no tools of MCP needs nothing of it. */
export async function loadMcp(): Promise<typeof import('@modelcontextprotocol/client')> {
  return await orMissing(() => import('@modelcontextprotocol/client'))
}

export async function loadStdio(): Promise<typeof import('@modelcontextprotocol/client/stdio')> {
  return await orMissing(() => import('@modelcontextprotocol/client/stdio'))
}

async function orMissing<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    const isMissing = cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
    if (!isMissing) throw cause
    const problem =
      'mcpTools() needs the package @modelcontextprotocol/client: npm install @modelcontextprotocol/client'
    throw new Error(problem, { cause })
  }
}
