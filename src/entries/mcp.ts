/** Agents as an MCP server. */

export { type AgentMcpServer, createMcpServer } from '../mcp/mcp-server.ts'
