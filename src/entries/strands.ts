/** Serves agents of the Strands Agents SDK (`@strands-agents/sdk`). */

export type { AdapterOptions } from '../integrations/agents/framework-adapter.ts'
export { type StrandsAgent, strands } from '../integrations/agents/strands.ts'
