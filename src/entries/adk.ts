/** Serves agents of the Agent Development Kit (`@google/adk`). Makes other agents tools of theirs. */

export type { RemoteTarget } from '../core/client/remote-tool.ts'
export { type AdkAgent, type AdkTool, adk, asTool } from '../integrations/agents/adk.ts'
export type { AsToolOptions } from '../integrations/agents/as-tool.ts'
export type { AdapterOptions, RemoteQuestion } from '../integrations/agents/framework-adapter.ts'
