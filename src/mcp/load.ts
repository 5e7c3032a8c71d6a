import { orMissing } from '../protocol/or-missing.ts'

const missing = ['mcpServer()', '@modelcontextprotocol/server'] as const

/** Loaded for those who use it. */
export async function loadMcp(): Promise<typeof import('@modelcontextprotocol/server')> {
  return await orMissing(() => import('@modelcontextprotocol/server'), ...missing)
}

export async function loadStdio(): Promise<typeof import('@modelcontextprotocol/server/stdio')> {
  return await orMissing(() => import('@modelcontextprotocol/server/stdio'), ...missing)
}
