/** Shows agents in front ends that speak AG-UI, such as CopilotKit: `A2AAgent`. */

export { A2AAgent, type A2AAgentOptions } from '../integrations/ui/ag-ui.ts'
export type { AgentSource, KeyValueStorage } from '../integrations/ui/conversations.ts'
