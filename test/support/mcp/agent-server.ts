/** The test agent as an MCP server over standard input and output. */
import { mcpServer } from '../../../src/entries/mcp.ts'
import { testAgent } from './test-agent.ts'

const server = await mcpServer(testAgent, { maxResult: 100_000 })
await server.stdio()
process.exit(0)
