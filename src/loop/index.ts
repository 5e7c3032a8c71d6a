export type { Invocation } from '../agent/work.ts'
export { type AgentLoop, type AgentLoopOptions, createAgentLoop, type LoopOutcome } from './agent-loop.ts'
export type { LoopEvent } from './converse.ts'
export { type McpTools, mcpTools } from './mcp/mcp-tools.ts'
export type { McpAddress, McpCommand, McpProblem, McpToolsOptions, McpUrl } from './mcp/options.ts'
export { type RemoteAgentOptions, type RemoteTarget, remoteAgent } from './remote-agent.ts'
export { skillTool } from './skill-tool.ts'
export {
  type ClientTool,
  clientTool,
  type LocalTool,
  type LocalToolOptions,
  localTool,
  type Tool,
  type ToolContext,
} from './tool.ts'
export { partsResult, type ToolResult } from './tool-result.ts'
export type { ToolSource } from './toolbox.ts'
