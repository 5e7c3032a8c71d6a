/** Agents made of a model and tools. */

export { type AgentLoop, type AgentLoopOptions, createAgentLoop } from '../loop/agent-loop.ts'
export type { ModelSettings } from '../loop/call-model.ts'
export { type McpAgent, type McpAgentOptions, mcpAgent } from '../loop/mcp/mcp-agent.ts'
export { type McpTools, mcpTools } from '../loop/mcp/mcp-tools.ts'
export type { LoopModel } from '../loop/model-stream.ts'
export type { ObservableEvents } from '../loop/observable-events.ts'
export type { LoopEvent } from '../loop/run-loop.ts'
export { remoteAgent } from '../loop/tools/remote-agent.ts'
export { skillTool } from '../loop/tools/skill-tool.ts'
export {
  type ClientTool,
  clientTool,
  type LocalTool,
  type LocalToolOptions,
  localTool,
  type Tool,
} from '../loop/tools/tool.ts'
export { partsResult, type ToolResult } from '../loop/tools/tool-result.ts'
export type { ToolSource } from '../loop/tools/toolbox.ts'
