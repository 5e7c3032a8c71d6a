export type { CardedService, McpAgent, McpAgents } from './agents.ts'
export { type AgentMcpServer, type McpServerOptions, mcpServer } from './mcp-server.ts'
