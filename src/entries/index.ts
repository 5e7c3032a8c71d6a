/** Writes and serves agents: `serve`, and everything of `parley-a2a/server`. Needs Node, Bun or Deno. */

export type { MeshEndpointOptions } from '../mesh-bridge/endpoint.ts'

export { createLogger, type LoggerOptions, type LogOutput } from '../node/logger.ts'
export { serve } from '../serve.ts'
export type { ServeMeshOptions, ServeOptions, Server } from '../serve-options.ts'
export type { ConsoleAuth, ConsoleOptions } from '../server/operator/options.ts'
export { createSqliteLog } from '../stores/sqlite/sqlite-log.ts'
export * from './server.node.ts'
