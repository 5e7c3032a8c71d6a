/** Serves agents of the Strands Agents SDK (`@strands-agents/sdk`). Makes other agents tools of theirs. */

export type { RemoteTarget } from '../core/client/remote-tool.ts'
export type { AsToolOptions } from '../integrations/agents/as-tool.ts'
export type { AdapterOptions, RemoteQuestion } from '../integrations/agents/framework-adapter.ts'
export { asTool, type StrandsAgent, type StrandsTool, strands } from '../integrations/agents/strands.ts'
