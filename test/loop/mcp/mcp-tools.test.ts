import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createMcpHandler, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../../src/core/protocol/model.ts'
import { connect } from '../../../src/entries/client.ts'
import { agent } from '../../../src/entries/index.ts'
import { type AgentLoopOptions, createAgentLoop, type McpTools, mcpTools } from '../../../src/entries/loop.ts'
import type { McpAddress, McpProblem, McpToolsOptions } from '../../../src/loop/mcp/options.ts'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../support/models/scripted-model.ts'
import { closedPort, startHttpServer } from '../../support/servers/http-server.ts'
import { compileCacheEnv } from './support/compile-cache-env.ts'
import { type Events, testServer } from './support/test-server.ts'

const goodServer = fileURLToPath(new URL('./support/stdio-server.ts', import.meta.url))
const badServer = fileURLToPath(new URL('./support/bad-server.ts', import.meta.url))
const stdio = { command: process.execPath, args: [goodServer], env: compileCacheEnv() }
const badServerWith = (...tools: unknown[]) => ({
  command: process.execPath,
  args: [badServer, JSON.stringify(tools)],
  env: compileCacheEnv(),
})

function toolsOf(address: McpAddress, options?: McpToolsOptions): McpTools {
  const tools = mcpTools(address, options)
  onTestFinished(() => tools.close())
  return tools
}

async function namesOf(tools: McpTools): Promise<readonly string[]> {
  return (await tools.tools(AbortSignal.timeout(20_000))).map(({ name }) => name)
}

/** Lets a model call a tool, and returns the result that the model receives. */
async function call(tools: McpTools, name: string, input = '{}', options: Partial<AgentLoopOptions> = {}) {
  const scripted = scriptedModel(toolCalls([name, input]), textReply('Done'))
  const loop = createAgentLoop({ model: scripted, tools: [tools], ...options })
  const outcome = await loop.invokeSync([{ text: 'go' }], { taskId: crypto.randomUUID(), contextId: 'c' })
  const results = lastToolResults(scripted)
  return { result: Array.isArray(results) ? results[0] : results, outcome, scripted }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** A server of the newest MCP version, without sessions. */
async function startModernServer(events?: Events): Promise<string> {
  const handler = createMcpHandler(() => testServer(events))
  onTestFinished(() => handler.close())
  return await startHttpServer(getRequestListener((request) => handler.fetch(request)))
}

/** A server of earlier MCP versions, with sessions. */
function createSessionServer() {
  const transports = new Map<string, WebStandardStreamableHTTPServerTransport>()
  const dropSessions = () => transports.clear()
  const listener = getRequestListener(async (request) => {
    const id = request.headers.get('mcp-session-id')
    const existing = id === null ? undefined : transports.get(id)
    if (existing) return await existing.handleRequest(request)
    if (id !== null) return new Response('no such session', { status: 404 })
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (session) => void transports.set(session, transport),
    })
    await testServer().connect(transport)
    return await transport.handleRequest(request)
  })
  return { listener, dropSessions }
}

const addresses: readonly (readonly [string, () => McpAddress | Promise<McpAddress>])[] = [
  ['stdio', () => stdio],
  ['HTTP without sessions', async () => ({ url: await startModernServer() })],
  ['HTTP with sessions', async () => ({ url: await startHttpServer(createSessionServer().listener) })],
  [
    'a client of the user',
    async () => {
      const client = new Client({ name: 'own', version: '1' })
      await client.connect(
        new StreamableHTTPClientTransport(new URL(await startHttpServer(createSessionServer().listener))),
      )
      onTestFinished(() => client.close())
      return client
    },
  ],
]

it('a regular expression of an MCP server that takes exponential time is not evaluated', async () => {
  const evil = '^(([a-z])+.)+[A-Z]([a-z])+$'
  const properties = {
    text: { type: 'string', pattern: evil },
    pattern: { type: 'number' },
    other: { not: { type: 'string', pattern: evil } },
  }
  const tool = {
    name: 'match',
    inputSchema: { type: 'object', properties, patternProperties: { [evil]: {} }, additionalProperties: false },
    outputSchema: { type: 'object', properties: { text: { type: 'string', pattern: evil } } },
  }
  const tools = toolsOf(badServerWith(tool))
  const text = 'a'.repeat(60)
  const { result, scripted } = await call(tools, 'match', JSON.stringify({ text, other: text, [text]: 1, pattern: 1 }))
  expect(result).toEqual({ type: 'text', value: expect.stringContaining('called match') })
  expect(scripted.doStreamCalls[0]?.tools).toMatchObject([{ inputSchema: { properties } }])
  const { result: refused } = await call(tools, 'match', '{"pattern":"text"}')
  expect(refused).toMatchObject({ type: 'error-text', value: expect.stringContaining('do not fit') })
})

describe.each(addresses)('MCP tools over %s', (_, open) => {
  it('tools are offered to the model and return structured results', async () => {
    const tools = toolsOf(await open())
    const { result, scripted } = await call(tools, 'add', '{"a":1,"b":2}')
    expect(result).toEqual({ type: 'text', value: '{"sum":3}' })
    expect(scripted.doStreamCalls[0]?.tools?.find(({ name }) => name === 'add')).toMatchObject({
      description: 'Adds.',
      inputSchema: { type: 'object', required: ['a', 'b'] },
    })
  })

  it('a tool is not called with invalid arguments', async () => {
    const { result } = await call(toolsOf(await open()), 'add', '{"a":1,"b":"two"}')
    expect(result).toMatchObject({ type: 'error-text', value: expect.stringMatching(/"add" do not fit: .*b/) })
  })

  it('files reach the model and, with artifacts: true, the caller', async () => {
    const { result, outcome } = await call(toolsOf(await open(), { artifacts: true }), 'draw')
    expect(result).toEqual({
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
    const drawing = outcome.artifacts.find(({ name }) => name === 'draw')
    expect(drawing?.parts.map(({ mediaType }) => mediaType)).toEqual([
      'image/png',
      'audio/wav',
      undefined,
      'application/pdf',
    ])
  })

  it('the model receives the errors of a tool', async () => {
    const { result } = await call(toolsOf(await open()), 'fail')
    expect(result).toEqual({ type: 'error-text', value: 'The printer is out of ink' })
  })

  it('a tool receives the trace of its caller', async () => {
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', tracestate: 'a=1' }
    const tools = toolsOf(await open())
    const scripted = scriptedModel(toolCalls(['trace', '{}']), textReply('Done'))
    const loop = createAgentLoop({ model: scripted, tools: [tools] })
    await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c', trace })
    expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: `${trace.traceparent} a=1` }])
    expect((await call(tools, 'trace')).result).toEqual({ type: 'text', value: 'none none' })
  })

  it('tool names have the configured prefix', async () => {
    expect(await namesOf(toolsOf(await open(), { prefix: 'my' }))).toContain('my_add')
  })
})

describe.each(addresses.filter(([name]) => name !== 'HTTP without sessions'))('MCP tools over %s', (_, open) => {
  it('progress is reported, and canceling the task cancels the tool', async () => {
    const tools = toolsOf(await open())
    const scripted = scriptedModel(toolCalls(['wait', '{}']), textReply('Done'))
    const client = await connect(agent({ name: 'Waiting' }, createAgentLoop({ model: scripted, tools: [tools] })))
    const seen: string[] = []
    for await (const event of client.stream('go')) {
      if (event.type !== 'status') continue
      const text = event.status.message ? textOf(event.status.message) : event.status.state
      seen.push(text)
      if (text === 'wait: Warming up (1 of 3)') await client.task(event.taskId).cancel()
    }
    expect(seen).toEqual(['working', 'Calling wait', 'wait: Warming up (1 of 3)', 'canceled'])
    await expect.poll(async () => (await call(tools, 'canceled')).result).toEqual({ type: 'text', value: '1' })
  })

  it('a new tool of the server is available at the next step', async () => {
    const tools = toolsOf(await open())
    expect(await namesOf(tools)).not.toContain('grown')
    expect((await call(tools, 'grow')).result).toEqual({ type: 'text', value: 'Grown' })
    await expect.poll(() => namesOf(tools)).toContain('grown')
    expect((await call(tools, 'grown')).result).toEqual({ type: 'text', value: 'I am new' })
  })
})

describe('MCP tools', () => {
  it('a timed-out tool is canceled over HTTP without sessions', async () => {
    const events = { canceled: 0 }
    const tools = toolsOf({ url: await startModernServer(events) })
    const { result } = await call(tools, 'wait', '{}', { toolTimeout: 300 })
    expect(result).toEqual({ type: 'error-text', value: 'The tool "wait" failed: it took longer than 0.3 seconds.' })
    await expect.poll(() => events.canceled).toBe(1)
  })

  it('a program that has exited is started again', async () => {
    const tools = toolsOf(stdio)
    const { result } = await call(tools, 'die')
    expect(result).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining('the connection to the MCP server was lost'),
    })
    expect((await call(tools, 'add', '{"a":2,"b":2}')).result).toEqual({ type: 'text', value: '{"sum":4}' })
  })

  it('a call is repeated in a new session if the server has lost its sessions', async () => {
    const { listener, dropSessions } = createSessionServer()
    const tools = toolsOf({ url: await startHttpServer(listener) })
    await call(tools, 'add', '{"a":2,"b":2}')
    dropSessions()
    expect((await call(tools, 'add', '{"a":2,"b":3}')).result).toEqual({ type: 'text', value: '{"sum":5}' })
  })

  it('the loop runs without an unreachable server unless it is required', async () => {
    const port = await closedPort()
    const problems: McpProblem[] = []
    const tools = toolsOf({ url: `http://127.0.0.1:${port}` }, { onProblem: (problem) => problems.push(problem) })
    expect((await call(tools, 'add')).outcome.status.state).toBe('completed')
    expect(problems[0]).toMatchObject({ type: 'unreachable' })

    const required = toolsOf({ url: `http://127.0.0.1:${port}` }, { required: true })
    const { outcome } = await call(required, 'add')
    expect(outcome.status.state).toBe('failed')
    expect(outcome.status.message?.parts).toEqual([{ text: 'An MCP server cannot be reached.' }])

    const server = createServer(createSessionServer().listener)
    onTestFinished(() => void server.close())
    server.listen(port, '127.0.0.1')
    onTestFinished(() => server.closeAllConnections())
    await expect.poll(() => namesOf(tools), { timeout: 10_000 }).toContain('add')
  })

  it('invalid tools are refused one by one with a reason, and the others are used', async () => {
    const problems: McpProblem[] = []
    const good = { name: 'good', inputSchema: { type: 'object' } }
    const tools = toolsOf(
      badServerWith(
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
      expect.stringContaining('the input schema of the tool "none" is not an object'),
      expect.stringContaining('no usable name'),
      expect.stringContaining('the tool "huge" is described by'),
      expect.stringContaining('no usable name'),
    ])
    expect((await call(tools, 'odd_name_of_it')).result).toEqual({ type: 'text', value: 'called odd/name.of it' })
  })

  it('two tools with the same name are reported', async () => {
    const problems: McpProblem[] = []
    const tool = { name: 'one.two', inputSchema: { type: 'object' } }
    const tools = toolsOf(badServerWith(tool, { ...tool, name: 'one/two' }), {
      maxTools: 2,
      onProblem: (problem) => problems.push(problem),
    })
    expect(await namesOf(tools)).toEqual(['one_two'])
    expect(problems.at(-1)?.message).toContain('two tools would be called "one_two"')
  })

  it.each([
    ['stdio', () => stdio],
    ['HTTP', async () => ({ url: await startModernServer() })],
  ])('a result over maxMessage is an error over %s, and later calls work', { timeout: 30_000 }, async (_, open) => {
    const tools = toolsOf(await open(), { maxMessage: 100_000 })
    expect((await call(tools, 'big', '{"size":200000}')).result).toMatchObject({ type: 'error-text' })
    expect((await call(tools, 'big', '{"size":3}')).result).toEqual({ type: 'text', value: 'xxx' })
  })

  it('include selects tools, and needsApproval applies to some of them', async () => {
    const tools = toolsOf(stdio, {
      include: ({ name }) => name.startsWith('a'),
      needsApproval: ({ name }) => name === 'add',
    })
    const scripted = scriptedModel(toolCalls(['add', '{"a":1,"b":1}']), textReply('Two'))
    const client = await connect(agent({ name: 'Careful' }, createAgentLoop({ model: scripted, tools: [tools] })))
    const conversation = client.conversation()
    expect((await conversation.send('1 + 1?')).task?.status.state).toBe('input-required')
    expect((await conversation.send('yes')).task?.status.state).toBe('completed')
    expect(scripted.doStreamCalls[0]?.tools).toHaveLength(1)
  })

  it('close stops the program', async () => {
    const tools = mcpTools(stdio)
    const { result } = await call(tools, 'pid')
    const pid = Number((result as { value: string }).value)
    expect(isAlive(pid)).toBe(true)
    await tools.close()
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false)
    expect(await namesOf(tools)).toEqual([])
  })

  it('a missing program is reported to the operator, and the loop runs without it', async () => {
    const problems: McpProblem[] = []
    const tools = toolsOf({ command: '/no/such/program' }, { onProblem: (problem) => problems.push(problem) })
    expect((await call(tools, 'add')).outcome.status.state).toBe('completed')
    expect(problems[0]).toMatchObject({
      type: 'unreachable',
      message: expect.stringContaining('there is no program /no/such/program'),
    })
  })

  it('an invalid address is refused', () => {
    expect(() => mcpTools({} as never)).toThrow('expected { command }, { url } or a connected MCP client')
    expect(() => mcpTools({ url: 'nowhere' })).toThrow('expected { command }')
  })
})
