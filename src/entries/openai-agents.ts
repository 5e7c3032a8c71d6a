/** Serves agents of the OpenAI Agents SDK (`@openai/agents`). Makes other agents tools of theirs. */

export type { RemoteTarget } from '../core/client/remote-tool.ts'
export type { AsToolOptions } from '../integrations/agents/as-tool.ts'
export type { AdapterOptions, RemoteQuestion } from '../integrations/agents/framework-adapter.ts'
export {
  asTool,
  type OpenAiAgent,
  type OpenAiAgentsOptions,
  type OpenAiTool,
  openaiAgents,
} from '../integrations/agents/openai-agents.ts'
