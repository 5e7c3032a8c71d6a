import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.ts'
import { agent } from '../../src/entries/index.ts'
import {
  type AgentLoopOptions,
  createAgentLoop,
  type McpTools,
  type McpToolsOptions,
  mcpTools,
} from '../../src/entries/loop.ts'
import type { McpAddress, McpProblem } from '../../src/loop/mcp/options.ts'
import { textOf } from '../../src/protocol/model.ts'
import { type Events, testServer } from '../support/mcp/test-server.ts'
import { scriptedModel, textReply, toldTo, toolCalls } from '../support/models/scripted-model.ts'
import { closedPort, startHttpServer } from '../support/servers/http-server.ts'

const goodServer = fileURLToPath(new URL('../support/mcp/stdio-server.ts', import.meta.url))
const badServer = fileURLToPath(new URL('../support/mcp/bad-server.ts', import.meta.url))
const stdio = { command: process.execPath, args: [goodServer] }
const bad = (...tools: unknown[]) => ({
  command: process.execPath,
  args: [badServer, JSON.stringify(tools)],
})

function toolsOf(address: McpAddress, options?: McpToolsOptions): McpTools {
  const tools = mcpTools(address, options)
  onTestFinished(() => tools.close())
  return tools
}

async function namesOf(tools: McpTools): Promise<readonly string[]> {
  return (await tools.tools(AbortSignal.timeout(20_000))).map(({ name }) => name)
}

/** Has a model call a tool, and gives what the model was told. */
async function call(tools: McpTools, name: string, input = '{}', options: Partial<AgentLoopOptions> = {}) {
  const asked = scriptedModel(toolCalls([name, input]), textReply('Done'))
  const loop = createAgentLoop({ model: asked, tools: [tools], ...options })
  const outcome = await loop.invokeSync([{ text: 'go' }], { taskId: crypto.randomUUID(), contextId: 'c' })
  const told = toldTo(asked)
  return { told: Array.isArray(told) ? told[0] : told, outcome, asked }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A server whose every request is answered by itself, as the newest version of MCP has it. */
async function modern(events?: Events): Promise<string> {
  const handler = createMcpHandler(() => testServer(events))
  onTestFinished(() => handler.close())
  return await startHttpServer(getRequestListener((request) => handler.fetch(request)))
}

/** A server with sessions, as the versions before had it. */
function sessions() {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const forget = () => transports.clear()
  const listener = getRequestListener(async (request) => {
    const id = request.headers.get('mcp-session-id')
    const known = id === null ? undefined : transports.get(id)
    if (known) return await known.handleRequest(request)
    if (id !== null) return new Response('no such session', { status: 404 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void transports.set(session, transport),
    })
    await testServer().connect(transport)
    return await transport.handleRequest(request)
  })
  return { listener, forget }
}

const places: readonly (readonly [string, () => McpAddress | Promise<McpAddress>])[] = [
  ['stdio', () => stdio],
  ['HTTP without sessions', async () => ({ url: await modern() })],
  ['HTTP with sessions', async () => ({ url: await startHttpServer(sessions().listener) })],
  [
    'a client that is handed in',
    async () => {
      const client = new Client({ name: 'own', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL(await startHttpServer(sessions().listener))))
      onTestFinished(() => client.close())
      return client
    },
  ],
]

describe.each(places)('tools of MCP over %s', (_, open) => {
  it('are offered to the model and called, with structured results', async () => {
    const tools = toolsOf(await open())
    const { told, asked } = await call(tools, 'add', '{"a":1,"b":2}')
    expect(told).toEqual({ type: 'text', value: '{"sum":3}' })
    expect(asked.doStreamCalls[0]?.tools?.find(({ name }) => name === 'add')).toMatchObject({
      description: 'Adds.',
      inputSchema: { type: 'object', required: ['a', 'b'] },
    })
  })

  it('get no arguments that do not fit', async () => {
    const { told } = await call(toolsOf(await open()), 'add', '{"a":1,"b":"two"}')
    expect(told).toMatchObject({ type: 'error-text', value: expect.stringMatching(/"add" do not fit: .*b/) })
  })

  it('give files to the model, and to the caller if that is wanted', async () => {
    const { told, outcome } = await call(toolsOf(await open(), { artifacts: true }), 'draw')
    expect(told).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'Here' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw==' } },
        { type: 'file', mediaType: 'audio/wav', data: { type: 'data', data: 'UklGRg==' } },
        { type: 'text', text: 'A note' },
        {
          type: 'file',
          mediaType: 'application/octet-stream',
          filename: 'b.bin',
          data: { type: 'data', data: 'AAAA' },
        },
        {
          type: 'file',
          mediaType: 'application/pdf',
          filename: 'c.pdf',
          data: { type: 'url', url: new URL('https://example.com/c.pdf') },
        },
      ],
    })
    const drawn = outcome.artifacts.find(({ name }) => name === 'draw')
    expect(drawn?.parts.map(({ mediaType }) => mediaType)).toEqual([
      'image/png',
      'audio/wav',
      undefined,
      'application/pdf',
    ])
  })

  it('tell the model of their errors', async () => {
    const { told } = await call(toolsOf(await open()), 'fail')
    expect(told).toEqual({ type: 'error-text', value: 'The printer is out of ink' })
  })

  it('are told the trace of whoever calls them', async () => {
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1' }
    const tools = toolsOf(await open())
    const asked = scriptedModel(toolCalls(['trace', '{}']), textReply('Done'))
    const loop = createAgentLoop({ model: asked, tools: [tools] })
    await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c', trace })
    expect(toldTo(asked)).toEqual([{ type: 'text', value: `${trace.traceparent} a=1` }])
    expect((await call(tools, 'trace')).told).toEqual({ type: 'text', value: 'none none' })
  })

  it('are named with a prefix', async () => {
    expect(await namesOf(toolsOf(await open(), { prefix: 'my' }))).toContain('my_add')
  })
})

describe.each(places.filter(([name]) => name !== 'HTTP without sessions'))('tools of MCP over %s', (_, open) => {
  it('are canceled with the task, and tell their progress before', async () => {
    const tools = toolsOf(await open())
    const asked = scriptedModel(toolCalls(['wait', '{}']), textReply('Done'))
    const client = await connect(agent({ name: 'Waiting' }, createAgentLoop({ model: asked, tools: [tools] })))
    const seen: string[] = []
    for await (const event of client.stream('go')) {
      if (event.type !== 'status') continue
      const text = event.status.message ? textOf(event.status.message) : event.status.state
      seen.push(text)
      if (text === 'wait: Warming up (1 of 3)') await client.task(event.taskId).cancel()
    }
    expect(seen).toEqual(['Calling wait', 'wait: Warming up (1 of 3)', 'canceled'])
    await expect.poll(async () => (await call(tools, 'canceled')).told).toEqual({ type: 'text', value: '1' })
  })

  it('are seen at the next step when the server has new ones', async () => {
    const tools = toolsOf(await open())
    expect(await namesOf(tools)).not.toContain('grown')
    expect((await call(tools, 'grow')).told).toEqual({ type: 'text', value: 'Grown' })
    await expect.poll(() => namesOf(tools)).toContain('grown')
    expect((await call(tools, 'grown')).told).toEqual({ type: 'text', value: 'I am new' })
  })
})

describe('tools of MCP', () => {
  it('are canceled over HTTP without sessions, too', async () => {
    const events = { canceled: 0 }
    const tools = toolsOf({ url: await modern(events) })
    const { told } = await call(tools, 'wait', '{}', { toolTimeout: 300 })
    expect(told).toEqual({ type: 'error-text', value: 'The tool "wait" failed: it took longer than 0.3 seconds.' })
    await expect.poll(() => events.canceled).toBe(1)
  })

  it('are there again after their program has died', async () => {
    const tools = toolsOf(stdio)
    const { told } = await call(tools, 'die')
    expect(told).toMatchObject({ type: 'error-text', value: expect.stringContaining('the MCP server has gone') })
    expect((await call(tools, 'add', '{"a":2,"b":2}')).told).toEqual({ type: 'text', value: '{"sum":4}' })
  })

  it('are there again after their server was restarted, and has forgotten its sessions', async () => {
    const { listener, forget } = sessions()
    const tools = toolsOf({ url: await startHttpServer(listener) })
    await call(tools, 'add', '{"a":2,"b":2}')
    forget()
    expect((await call(tools, 'add', '{"a":2,"b":3}')).told).toEqual({ type: 'text', value: '{"sum":5}' })
  })

  it('let the loop go on without them while their server is not there, unless they are required', async () => {
    const port = await closedPort()
    const problems: McpProblem[] = []
    const tools = toolsOf({ url: `http://127.0.0.1:${port}` }, { onProblem: (problem) => problems.push(problem) })
    expect((await call(tools, 'add')).outcome.status.state).toBe('completed')
    expect(problems[0]).toMatchObject({ type: 'unreachable' })

    const needed = toolsOf({ url: `http://127.0.0.1:${port}` }, { required: true })
    const { outcome } = await call(needed, 'add')
    expect(outcome.status.state).toBe('failed')
    expect(outcome.status.message?.parts).toEqual([{ text: 'A server of tools cannot be reached.' }])

    const server = createServer(sessions().listener)
    onTestFinished(() => void server.close())
    server.listen(port, '127.0.0.1')
    onTestFinished(() => server.closeAllConnections())
    await expect.poll(() => namesOf(tools), { timeout: 10_000 }).toContain('add')
  })

  it('are refused one by one where they are wrong, with a reason, and the others stay', async () => {
    const problems: McpProblem[] = []
    const good = { name: 'good', inputSchema: { type: 'object' } }
    const tools = toolsOf(
      bad(
        good,
        { name: 'broken', inputSchema: { type: 'object', properties: { a: { type: 'nonsense' } } } },
        { name: 'list', inputSchema: { type: 'array' } },
        { name: 'none' },
        { inputSchema: { type: 'object' } },
        { name: 'huge', description: 'x'.repeat(70_000), inputSchema: { type: 'object' } },
        { name: 'odd/name.of it', inputSchema: { type: 'object' } },
        null,
      ),
      { maxTools: 8, onProblem: (problem) => problems.push(problem) },
    )
    expect(await namesOf(tools)).toEqual(['good', 'odd_name_of_it'])
    expect(problems.map(({ message }) => message)).toEqual([
      'The MCP server has more than 8 tools: only the first are used.',
      expect.stringContaining('broken'),
      expect.stringContaining('the input schema of the tool "list" does not describe an object'),
      expect.stringContaining('the input schema of the tool "none" is no object'),
      expect.stringContaining('no name that can be used'),
      expect.stringContaining('the tool "huge" is described by'),
      expect.stringContaining('no name that can be used'),
    ])
    expect((await call(tools, 'odd_name_of_it')).told).toEqual({ type: 'text', value: 'called odd/name.of it' })
  })

  it('say so if two of them would have one name', async () => {
    const problems: McpProblem[] = []
    const tool = { name: 'one.two', inputSchema: { type: 'object' } }
    const tools = toolsOf(bad(tool, { ...tool, name: 'one/two' }), {
      maxTools: 2,
      onProblem: (each) => problems.push(each),
    })
    expect(await namesOf(tools)).toEqual(['one_two'])
    expect(problems.at(-1)?.message).toContain('two tools would be called "one_two"')
  })

  it.each([
    ['stdio', () => stdio],
    ['HTTP', async () => ({ url: await modern() })],
  ])('give no more than they may over %s, and work again afterwards', { timeout: 30_000 }, async (_, open) => {
    const tools = toolsOf(await open(), { maxMessage: 100_000 })
    expect((await call(tools, 'big', '{"size":200000}')).told).toMatchObject({ type: 'error-text' })
    expect((await call(tools, 'big', '{"size":3}')).told).toEqual({ type: 'text', value: 'xxx' })
  })

  it('can be chosen, and need approval where that is said', async () => {
    const tools = toolsOf(stdio, {
      include: ({ name }) => name.startsWith('a'),
      needsApproval: ({ name }) => name === 'add',
    })
    const asked = scriptedModel(toolCalls(['add', '{"a":1,"b":1}']), textReply('Two'))
    const client = await connect(agent({ name: 'Careful' }, createAgentLoop({ model: asked, tools: [tools] })))
    const talk = client.conversation()
    expect((await talk.send('1 + 1?')).task?.status.state).toBe('input-required')
    expect((await talk.send('yes')).task?.status.state).toBe('completed')
    expect(asked.doStreamCalls[0]?.tools).toHaveLength(1)
  })

  it('end their program when they are closed', async () => {
    const tools = mcpTools(stdio)
    const { told } = await call(tools, 'pid')
    const pid = Number((told as { value: string }).value)
    expect(isAlive(pid)).toBe(true)
    await tools.close()
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
    expect(await namesOf(tools)).toEqual([])
  })

  it('of a program that there is not are missed by nobody but the operator', async () => {
    const problems: McpProblem[] = []
    const tools = toolsOf({ command: '/no/such/program' }, { onProblem: (problem) => problems.push(problem) })
    expect((await call(tools, 'add')).outcome.status.state).toBe('completed')
    expect(problems[0]).toMatchObject({ type: 'unreachable', message: expect.stringContaining('ENOENT') })
  })

  it('are refused without an address that can be one', () => {
    expect(() => mcpTools({} as never)).toThrow('expected { command }, { url } or a client')
    expect(() => mcpTools({ url: 'nowhere' })).toThrow('expected { command }')
  })
})
