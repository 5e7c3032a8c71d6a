/** The test agent as an MCP server over standard input and output. */
import { createMcpServer } from '../../../../src/entries/mcp.ts'
import { testAgent } from './test-agent.ts'

const server = await createMcpServer(testAgent, { maxResult: 100_000 })
await server.stdio()
process.exit(0)
