/** Agents as an MCP server. */

export type { McpAgent } from '../mcp/agents.ts'
export { type AgentMcpServer, createMcpServer, type McpServerOptions } from '../mcp/mcp-server.ts'
