import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { agent, skill } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { createAgentLoop, mcpTools } from 'parley-a2a/loop'
import { createMcpServer } from 'parley-a2a/mcp'
import { z } from 'zod'

/** MCP both ways: an agent uses the tools of an MCP server, and an MCP client uses an agent as a tool. */

async function listen(fetch: (request: Request) => Promise<Response>) {
  const server = createServer(getRequestListener(fetch)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}

// 1. An MCP server with one tool, and an agent whose model calls it.
const stock = createMcpHandler(() => {
  const server = new McpServer({ name: 'stock', version: '1.0.0' })
  server.registerTool('count', { inputSchema: z.object({ item: z.string() }) }, ({ item }) => ({
    content: [{ type: 'text', text: `7 ${item}` }],
  }))
  return server
})
const stockServer = await listen((request) => stock.fetch(request))
const tools = mcpTools({ url: stockServer.url }, { prefix: 'stock' })
const clerk = agent({ name: 'Clerk' }, createAgentLoop({ model: scriptedModel(), tools: [tools] }))
const reply = await (await connect(clerk)).send('How many chairs are there?')
console.log('The agent, with the tool of an MCP server:', reply.text)
assert.equal(reply.text, 'There are 7.')

// 2. An agent with a typed skill, and an MCP client that finds it as a tool.
const order = skill({
  id: 'order',
  name: 'Order',
  description: 'Orders one piece of furniture.',
  input: z.object({ item: z.string() }),
  output: z.object({ item: z.string(), price: z.number() }),
  run: ({ item }) => ({ item, price: 40 }),
})
const shop = await createMcpServer(agent({ name: 'Shop', skills: [order] }))
const shopServer = await listen((request) => shop.fetch(request))
const client = new Client({ name: 'host', version: '1.0.0' })
await client.connect(new StreamableHTTPClientTransport(new URL(shopServer.url)))
const { structuredContent } = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
console.log('The MCP client, with the skill of an agent:', structuredContent)
assert.deepEqual(structuredContent, { item: 'chair', price: 40 })

await client.close()
await shop.close()
await tools.close()
stockServer.close()
shopServer.close()

/** Requests the tool first, then answers. */
function scriptedModel() {
  const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
  const finish = { type: 'finish', usage, finishReason: { unified: 'stop' } }
  const steps = [
    [{ type: 'tool-call', toolCallId: '1', toolName: 'stock_count', input: '{"item":"chairs"}' }, finish],
    [{ type: 'text-delta', id: '1', delta: 'There are 7.' }, finish],
  ]
  return new MockLanguageModelV4({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: steps.shift() as never }) }),
  })
}
