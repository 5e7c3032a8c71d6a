export type { McpAgent } from '../mcp/agents.ts'
export { type AgentMcpServer, type McpServerOptions, mcpServer } from '../mcp/mcp-server.ts'
