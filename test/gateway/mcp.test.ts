import { getRequestListener } from '@hono/node-server'
import { createMcpHandler } from '@modelcontextprotocol/server'
import { expect, it, onTestFinished } from 'vitest'
import { readSkillSchemas } from '../../src/core/protocol/extensions/typed-skills.ts'
import { connect } from '../../src/entries/client.node.ts'
import { testServer } from '../loop/mcp/support/test-server.ts'
import { until } from '../support/async.ts'
import { closedPort, startHttpServer } from '../support/servers/http-server.ts'
import { startGateway } from './support.ts'

async function startMcpServer(): Promise<string> {
  const handler = createMcpHandler(() => testServer())
  onTestFinished(() => handler.close())
  return await startHttpServer(getRequestListener((request) => handler.fetch(request)))
}

it.each(['v1.0', 'v0.3'] as const)('%s callers use the tools of an MCP server as typed skills', async (dialect) => {
  const gateway = await startGateway({ agents: { tools: { mcp: { url: await startMcpServer() } } } })
  const client = await connect(gateway.url, { dialects: [dialect] })
  expect(client.card.name).toBe('tools')
  expect(readSkillSchemas(client.card).get('add')).toMatchObject({
    input: { type: 'object', required: ['a', 'b'] },
    output: { type: 'object', required: ['sum'] },
  })
  expect(await client.skill('add', { a: 1, b: 2 })).toEqual({ sum: 3 })
  await expect(client.skill('add', { a: 'one' })).rejects.toMatchObject({ code: 'invalid-params' })
  await expect(client.send('no skill')).rejects.toThrow('expected one of the skills')
  const failed = await client.send({ data: {} }, { skill: 'fail' })
  expect(failed.task?.status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'The printer is out of ink' }] },
  })
  const drawn = await client.send({ data: {} }, { skill: 'draw' })
  const parts = drawn.message?.parts ?? []
  expect(parts.map((part) => Object.keys(part).find((key) => ['text', 'raw', 'url'].includes(key)))).toEqual([
    ...['text', 'raw', 'raw', 'text', 'raw', 'url'],
  ])
})

it('rules and redaction apply to the tools of an MCP server', async () => {
  const gateway = await startGateway({
    agents: { tools: { mcp: { url: await startMcpServer() } } },
    rules: [{ skill: ['fail', 'big'] }],
    content: {
      redact: [
        { name: 'ink', pattern: 'out of ink' },
        { name: 'x', pattern: 'x+' },
      ],
    },
  })
  const client = await connect(gateway.url)
  const failed = await client.send({ data: {} }, { skill: 'fail' })
  expect(failed.text).toBe('The printer is [redacted: ink]')
  expect((await client.send({ data: { size: 5 } }, { skill: 'big' })).text).toBe('[redacted: x]')
  await expect(client.skill('add', { a: 1, b: 2 })).rejects.toMatchObject({ code: 'forbidden' })
  expect(gateway.agents()[0]?.redactions).toMatchObject({ ink: 1, x: 1 })
})

it('an MCP server that cannot be reached keeps no other agent from starting', async () => {
  const port = await closedPort()
  const tools = { mcp: { url: `http://127.0.0.1:${port}` } }
  const gateway = await startGateway({ agents: { tools, other: { mcp: { url: await startMcpServer() } } } })
  expect(gateway.agents()).toMatchObject([{ state: 'unreachable' }, { state: 'ready', mode: 'local' }])
  expect(gateway.agents()[0]?.failure).toBeTruthy()
  const handler = createMcpHandler(() => testServer())
  onTestFinished(() => handler.close())
  const { createServer } = await import('node:http')
  const late = createServer(getRequestListener((request) => handler.fetch(request)))
  await new Promise<void>((resolve) => late.listen(port, '127.0.0.1', resolve))
  onTestFinished(() => void late.close())
  await until(async () => {
    await gateway.refresh()
    return gateway.agents()[0]?.state === 'ready'
  })
  const client = await connect(`${gateway.url}/tools`)
  expect(await client.skill('add', { a: 2, b: 2 })).toEqual({ sum: 4 })
})
