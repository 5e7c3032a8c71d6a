/** Serves agents of the OpenAI Agents SDK (`@openai/agents`). */

export type { AdapterOptions } from '../integrations/agents/framework-adapter.ts'
export { type OpenAiAgent, type OpenAiAgentsOptions, openaiAgents } from '../integrations/agents/openai-agents.ts'
