import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'

// An MCP server that the agent starts as a program. Put your own tools here, or name any other MCP server in agent.ts.
const pieces: Readonly<Record<string, number>> = { chair: 7, table: 2 }

const server = new McpServer({ name: 'stock', version: '1.0.0' })
server.registerTool(
  'count',
  {
    description: 'How many pieces of an article are in stock.',
    inputSchema: z.object({ article: z.string() }),
  },
  ({ article }) => ({ content: [{ type: 'text', text: `${pieces[article] ?? 0} pieces` }] }),
)
await server.connect(new StdioServerTransport())
