/**
 * Some test processes start without the environment of this process, such as the servers of MCP clients. The compile cache has
 * to be passed on, and so do the flags with which an older Node runs TypeScript.
 */
export function compileCacheEnv(): Record<string, string> {
  const { NODE_COMPILE_CACHE, NODE_OPTIONS } = process.env
  return { ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE }), ...(NODE_OPTIONS && { NODE_OPTIONS }) }
}
