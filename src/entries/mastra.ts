/** Serves agents of Mastra (`@mastra/core`). Makes other agents tools of theirs. */

export type { RemoteTarget } from '../core/client/remote-tool.ts'
export type { AsToolOptions } from '../integrations/agents/as-tool.ts'
export type { AdapterOptions, RemoteQuestion } from '../integrations/agents/framework-adapter.ts'
export { asTool, type MastraAgent, type MastraOptions, type MastraTool, mastra } from '../integrations/agents/mastra.ts'
