import { orMissing } from '../../protocol/or-missing.ts'

const missing = ['mcpTools()', '@modelcontextprotocol/client'] as const

/** Loaded for those who use it: who has no tools of MCP needs nothing of it. */
export async function loadMcp(): Promise<typeof import('@modelcontextprotocol/client')> {
  return await orMissing(() => import('@modelcontextprotocol/client'), ...missing)
}

export async function loadStdio(): Promise<typeof import('@modelcontextprotocol/client/stdio')> {
  return await orMissing(() => import('@modelcontextprotocol/client/stdio'), ...missing)
}
