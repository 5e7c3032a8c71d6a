/** Agents as an MCP server. */

export { type AgentMcpServer, createMcpServer } from '../loop/mcp-server/mcp-server.ts'
