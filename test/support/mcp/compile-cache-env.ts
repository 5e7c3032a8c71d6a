/** MCP clients start a server without the environment of this process, so the compile cache has to be passed on. */
export function compileCacheEnv(): Record<string, string> {
  const { NODE_COMPILE_CACHE } = process.env
  return NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE } : {}
}
