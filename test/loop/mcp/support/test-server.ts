import { McpServer } from '@modelcontextprotocol/server'
import { z } from 'zod'

/** Counters for tests in the same process. Over stdio, call the tool `canceled`. */
export interface Events {
  canceled: number
}

/** A server of the official SDK, with a tool for every kind of result. */
export function testServer(events: Events = { canceled: 0 }): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' }, { capabilities: { tools: { listChanged: true } } })
  const none = z.object({})
  server.registerTool(
    'add',
    {
      description: 'Adds.',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    ({ a, b }) => ({
      content: [{ type: 'text', text: JSON.stringify({ sum: a + b }) }],
      structuredContent: { sum: a + b },
    }),
  )
  server.registerTool('draw', { inputSchema: none }, () => ({
    content: [
      { type: 'text', text: 'Here' },
      { type: 'image', data: 'iVBORw==', mimeType: 'image/png' },
      { type: 'audio', data: 'UklGRg==', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///notes/a.txt', mimeType: 'text/plain', text: 'A note' } },
      { type: 'resource', resource: { uri: 'file:///b.bin', blob: 'AAAA' } },
      { type: 'resource_link', uri: 'https://example.com/c.pdf', name: 'c.pdf', mimeType: 'application/pdf' },
    ],
  }))
  server.registerTool('fail', { inputSchema: none }, () => ({
    content: [{ type: 'text', text: 'The printer is out of ink' }],
    isError: true,
  }))
  server.registerTool('wait', { inputSchema: none }, async (_, { mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, total: 3, message: 'Warming up' }
      await mcpReq.notify({ method: 'notifications/progress', params })
    }
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve, { once: true }))
    events.canceled++
    return { content: [] }
  })
  server.registerTool('canceled', { inputSchema: none }, () => ({
    content: [{ type: 'text', text: `${events.canceled}` }],
  }))
  server.registerTool('grow', { inputSchema: none }, () => {
    server.registerTool('grown', { inputSchema: none }, () => ({ content: [{ type: 'text', text: 'I am new' }] }))
    return { content: [{ type: 'text', text: 'Grown' }] }
  })
  server.registerTool('trace', { inputSchema: none }, (_, { mcpReq }) => {
    const { traceparent = 'none', tracestate = 'none' } = (mcpReq._meta ?? {}) as Record<string, unknown>
    return { content: [{ type: 'text', text: `${traceparent} ${tracestate}` }] }
  })
  server.registerTool('big', { inputSchema: z.object({ size: z.number() }) }, ({ size }) => ({
    content: [{ type: 'text', text: 'x'.repeat(size) }],
  }))
  server.registerTool('pid', { inputSchema: none }, () => ({ content: [{ type: 'text', text: `${process.pid}` }] }))
  server.registerTool('die', { inputSchema: none }, () => process.exit(1))
  return server
}
