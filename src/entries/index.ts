/** Writes and serves agents: `serve`, and everything of `parley-a2a/server`. Needs Node, Bun or Deno. */

export { createLogger } from '../node/logger.ts'
export { serve } from '../serve.ts'
export type { ServeOptions, Server } from '../serve-options.ts'
export { createSqliteLog } from '../stores/sqlite/sqlite-log.ts'
export * from './server.node.ts'
