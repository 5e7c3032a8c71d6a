/** Writes and serves agents: `serve`, and everything of `parley-a2a/server`. Needs Node, Bun or Deno. */

export { createLogger } from '../core/node/logger.ts'
export type { ServeOptions, Server } from '../serve/options.ts'
export { serve } from '../serve/serve.ts'
export { createSqliteLog } from '../stores/sqlite/sqlite-log.ts'
export * from './server.node.ts'
