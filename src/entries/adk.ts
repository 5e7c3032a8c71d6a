/** Serves agents of the Agent Development Kit (`@google/adk`). */

export { type AdkAgent, adk } from '../integrations/agents/adk.ts'
export type { AdapterOptions } from '../integrations/agents/framework-adapter.ts'
