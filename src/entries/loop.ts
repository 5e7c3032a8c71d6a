export type { Invocation } from '../agent/agent-function.ts'
export { type AgentLoop, type AgentLoopOptions, createAgentLoop, type LoopOutcome } from '../loop/agent-loop.ts'
export { type McpTools, mcpTools } from '../loop/mcp/mcp-tools.ts'
export type { McpAddress, McpCommand, McpProblem, McpToolsOptions, McpUrl } from '../loop/mcp/options.ts'
export type { LoopEvent } from '../loop/run-loop.ts'
export { type RemoteAgentOptions, type RemoteTarget, remoteAgent } from '../loop/tools/remote-agent.ts'
export { skillTool } from '../loop/tools/skill-tool.ts'
export {
  type ClientTool,
  clientTool,
  type LocalTool,
  type LocalToolOptions,
  localTool,
  type Tool,
  type ToolContext,
} from '../loop/tools/tool.ts'
export { partsResult, type ToolResult } from '../loop/tools/tool-result.ts'
export type { ToolSource } from '../loop/tools/toolbox.ts'
