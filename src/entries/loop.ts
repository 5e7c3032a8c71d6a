/** Agents made of a model and tools. */

export { type AgentLoop, type AgentLoopOptions, createAgentLoop } from '../loop/agent-loop.ts'
export { type McpTools, mcpTools } from '../loop/mcp/mcp-tools.ts'
export type { McpToolsOptions } from '../loop/mcp/options.ts'
export type { EventObserver, ObservableEvents } from '../loop/observable-events.ts'
export type { LoopEvent } from '../loop/run-loop.ts'
export { type RemoteAgentOptions, remoteAgent } from '../loop/tools/remote-agent.ts'
export { skillTool } from '../loop/tools/skill-tool.ts'
export { clientTool, type LocalToolOptions, localTool, type Tool } from '../loop/tools/tool.ts'
export { partsResult, type ToolResult } from '../loop/tools/tool-result.ts'
