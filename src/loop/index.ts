export type { Invocation } from '../agent/work.ts'
export { type AgentLoop, type AgentLoopOptions, createAgentLoop, type LoopOutcome } from './agent-loop.ts'
export type { LoopEvent } from './converse.ts'
export {
  type ClientTool,
  clientTool,
  type LocalTool,
  type LocalToolOptions,
  localTool,
  type Tool,
  type ToolContext,
} from './tool.ts'
