/** Serves agents of Mastra (`@mastra/core`). */

export type { AdapterOptions } from '../integrations/agents/framework-adapter.ts'
export { type MastraAgent, type MastraOptions, mastra } from '../integrations/agents/mastra.ts'
