import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { typedSkills } from '../../../src/core/protocol/extensions/typed-skills.ts'
import { connect } from '../../../src/entries/client.ts'
import { agent } from '../../../src/entries/index.ts'
import { createMcpServer } from '../../../src/entries/mcp.ts'
import type { McpAgents } from '../../../src/loop/mcp-server/agents.ts'
import type { McpServerOptions } from '../../../src/loop/mcp-server/mcp-server.ts'
import { startHttpServer } from '../../support/servers/http-server.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { compileCacheEnv } from './support/compile-cache-env.ts'
import { askingAgent, testAgent } from './support/test-agent.ts'

const script = fileURLToPath(new URL('./support/agent-server.ts', import.meta.url))

type Answer = 'accept' | 'decline'

/** A client of the official SDK. With an answer, it supports elicitation. */
function createClient(options: ClientOptions, answer?: Answer, content: object = { answer: 'blue' }) {
  const questions: unknown[] = []
  const client = new Client(
    { name: 'test', version: '1' },
    { ...options, ...(answer && { capabilities: { elicitation: {} } }) },
  )
  if (answer) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      questions.push(params)
      return answer === 'accept' ? { action: answer, content: content as never } : { action: answer }
    })
  }
  return { client, questions }
}

async function serveMcp(agents: McpAgents, options: McpServerOptions = {}): Promise<string> {
  const server = await createMcpServer(agents, { maxResult: 100_000, ...options })
  onTestFinished(() => server.close())
  return await startHttpServer(getRequestListener((request) => server.fetch(request)))
}

async function overHttp(url: string, mode: 'auto' | 'legacy', answer?: Answer, content?: object) {
  const session = createClient({ versionNegotiation: { mode } }, answer, content)
  onTestFinished(() => session.client.close())
  await session.client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return session
}

/** Processes shared by the tests that need no answer: starting one is slow. */
const shared = new Map<string, ReturnType<typeof startStdio>>()
afterAll(async () => {
  for (const started of shared.values()) await (await started).client.close()
})

async function overStdio(mode: 'auto' | 'legacy', answer?: Answer) {
  if (!answer) {
    const started = shared.get(mode) ?? startStdio(mode)
    shared.set(mode, started)
    return await started
  }
  const session = await startStdio(mode, answer)
  onTestFinished(() => session.client.close())
  return session
}

async function startStdio(mode: 'auto' | 'legacy', answer?: Answer) {
  const session = createClient({ versionNegotiation: { mode } }, answer)
  await session.client.connect(
    new StdioClientTransport({ command: process.execPath, args: [script], env: compileCacheEnv() }),
  )
  return session
}

const transports = [
  ['stdio', (answer?: Answer) => overStdio('legacy', answer)],
  ['stdio, newest version', (answer?: Answer) => overStdio('auto', answer)],
  ['HTTP', async (answer?: Answer) => overHttp(await serveMcp(testAgent), 'legacy', answer)],
  ['HTTP, newest version', async (answer?: Answer) => overHttp(await serveMcp(testAgent), 'auto', answer)],
] as const

const textOf = ({ content }: { content: readonly { type: string; text?: string }[] }) =>
  content.map(({ text }) => text).join('\n')

describe.each(transports)('skills as MCP tools over %s', (_, open) => {
  it('tools are listed with their input and output schemas', async () => {
    const { client } = await open()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['forecast', 'echo', 'order', 'sign-in', 'answer_task']),
    )
    expect(tools.find(({ name }) => name === 'forecast')).toMatchObject({
      title: 'Forecast',
      description: 'Tells the weather.\nExample: Graz',
      inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      outputSchema: { type: 'object', properties: { degrees: { type: 'number' } } },
    })
    expect(tools.find(({ name }) => name === 'echo')?.inputSchema).toMatchObject({ required: ['text'] })
  })

  it('tools take and return data or text', async () => {
    const { client } = await open()
    const typed = await client.callTool({ name: 'forecast', arguments: { city: 'Graz' } })
    expect(typed).toMatchObject({ structuredContent: { degrees: 4 } })
    const plain = await client.callTool({ name: 'echo', arguments: { text: 'hello' } })
    expect(plain.content).toEqual([{ type: 'text', text: 'You said hello' }])
    const wrapped = await client.callTool({ name: 'double', arguments: { input: 4 } })
    expect(JSON.stringify(wrapped.structuredContent)).toContain('8')
  })

  it('invalid arguments are refused with a reason', async () => {
    const { client } = await open()
    const result = await client.callTool({ name: 'forecast', arguments: { city: 'G' } })
    expect(result.isError).toBe(true)
    expect(textOf(result as never)).toMatch(/city/)
  })

  it('artifacts become content blocks', async () => {
    const { client } = await open()
    const { content } = await client.callTool({ name: 'files', arguments: { text: 'go' } })
    expect(content).toEqual([
      { type: 'text', text: '# Sales\nThey grew.' },
      { type: 'image', data: 'AQ==', mimeType: 'image/png' },
      { type: 'audio', data: 'Ag==', mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: expect.stringMatching(/^a2a:.*\/c%20d\.bin$/), blob: 'Aw==' } },
      { type: 'resource_link', uri: 'https://example.com/e.pdf', name: 'e.pdf', mimeType: 'application/pdf' },
      { type: 'text', text: '{"n":1}' },
      { type: 'text', text: 'All there' },
    ])
  })

  it.each([
    ['fail', 'The task is failed: Out of paper'],
    ['refuse', 'Not for you.'],
    ['sign-in', 'The agent needs to be authorized first: See https://example.com'],
    ['big', 'The result has 2'],
    ['crash', 'The agent failed unexpectedly'],
  ])('the task of %s ends with an error text', async (name, text) => {
    const { client } = await open()
    const result = await client.callTool({ name, arguments: { text: 'go' } })
    expect(result.isError).toBe(true)
    expect(textOf(result as never)).toContain(text)
    expect(JSON.stringify(result)).not.toContain('secret 123')
  })

  it('progress is reported, and canceling the call cancels the task', async () => {
    const { client } = await open()
    const before = Number(textOf((await client.callTool({ name: 'canceled', arguments: { text: '' } })) as never))
    const controller = new AbortController()
    const updates: unknown[] = []
    const call = client.callTool(
      { name: 'slow', arguments: { text: 'go' } },
      {
        signal: controller.signal,
        onprogress(progress) {
          updates.push(progress)
          controller.abort()
        },
      },
    )
    await expect(call).rejects.toThrow()
    expect(updates).toEqual([{ progress: 1, message: 'Warming up' }])
    const canceled = async () => textOf((await client.callTool({ name: 'canceled', arguments: { text: '' } })) as never)
    await expect.poll(canceled, { timeout: 10_000 }).toBe(`${before + 1}`)
  })

  it('the task continues the trace of the client, and ignores an invalid one', async () => {
    const { client } = await open()
    const traced = async (traceparent: string) => {
      const request = { name: 'trace', arguments: { text: 'go' }, _meta: { traceparent } }
      return textOf((await client.callTool(request)) as never)
    }
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    expect(await traced(traceparent)).toContain(traceparent)
    expect(await traced('nonsense')).toContain('none')
  })

  it('a client without elicitation learns how to answer', async () => {
    const { client } = await open()
    const question = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
    expect(question.isError).toBe(true)
    const text = textOf(question as never)
    expect(text).toContain('The agent asks: Which colour for the chair?')
    const [, taskId] = /call answer_task with taskId "([^"]+)"/.exec(text) ?? []
    const result = await client.callTool({ name: 'answer_task', arguments: { taskId, answer: 'red' } })
    expect(textOf(result as never)).toBe('{"item":"chair","colour":"red"}')
    const again = await client.callTool({ name: 'answer_task', arguments: { taskId, answer: 'red' } })
    expect(again).toMatchObject({ isError: true })
  })

  it('the user answers the question of the agent', async () => {
    const { client, questions } = await open('accept')
    const { structuredContent } = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
    expect(structuredContent).toEqual({ item: 'chair', colour: 'blue' })
    expect(questions).toMatchObject([
      { message: 'Which colour for the chair?', requestedSchema: { required: ['answer'] } },
    ])
  })

  it('the task is canceled if the user declines to answer', async () => {
    const { client } = await open('decline')
    const result = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
    expect(result.isError).toBe(true)
    expect(textOf(result as never)).toContain('its task is canceled')
  })
})

describe('an MCP server of agents', () => {
  it('tools of several agents are prefixed with agent names or configured prefixes', async () => {
    const { server } = await startTestServer((turn) => `Far: ${turn.text}`, { profile: { name: 'Far away' } })
    const near = await connect(agent({ name: 'Near' }, (turn) => `Near: ${turn.text}`))
    const byName = await overHttp(await serveMcp([server.url, near]), 'auto')
    const names = (await byName.client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(['far_away_far-away', 'far_away_answer_task', 'near_near', 'near_answer_task'])

    const byPrefix = await overHttp(
      await serveMcp({ a: server.url, b: { card: near.card, service: near.service } }),
      'auto',
    )
    const call = async (name: string) =>
      textOf((await byPrefix.client.callTool({ name, arguments: { text: 'hi' } })) as never)
    expect([await call('a_far-away'), await call('b_near')]).toEqual(['Far: hi', 'Near: hi'])
  })

  it('the user fills in the form of the agent, and the answer names its request id', async () => {
    const { client, questions } = await overHttp(await serveMcp(askingAgent), 'auto', 'accept', { size: 4, gift: true })
    const result = await client.callTool({ name: 'asking', arguments: { text: 'go' } })
    expect(questions).toMatchObject([{ requestedSchema: { properties: { size: { type: 'integer' } } } }])
    expect(textOf(result as never)).toContain('{"toolUseId":"r-1","result":{"size":4,"gift":true}}')
  })

  it('the user is not asked for secrets', async () => {
    const { client, questions } = await overHttp(await serveMcp(askingAgent), 'auto', 'accept')
    const result = await client.callTool({ name: 'asking', arguments: { text: 'secret' } })
    expect(textOf(result as never)).toContain('asks for a secret')
    expect(questions).toEqual([])
  })

  it('requests from foreign origins, unknown sessions and forged request states are refused', async () => {
    const url = await serveMcp(testAgent)
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'page', version: '1' } }
    const body = { jsonrpc: '2.0', id: 1, method: 'initialize', params }
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const send = (origin: string) =>
      fetch(url, { method: 'POST', headers: { ...headers, origin }, body: JSON.stringify(body) })
    expect((await send('https://evil.example')).status).toBe(403)
    expect((await send('http://localhost:3000')).status).toBe(200)

    const stale = { ...headers, 'mcp-session-id': 'stale', 'mcp-protocol-version': '2025-06-18' }
    expect((await fetch(url, { method: 'POST', headers: stale, body: JSON.stringify(body) })).status).toBe(404)

    const { client } = await overHttp(url, 'auto')
    const forged = { name: 'order', arguments: { item: 'chair' }, requestState: 'forged', inputResponses: {} }
    await expect(client.callTool(forged as never)).rejects.toThrow('Invalid or expired requestState')
  })

  it('an invalid schema is reported, and the agent itself validates the input', async () => {
    const card = (await connect(testAgent)).card
    const [extension] = card.capabilities.extensions ?? []
    const invalid = { type: 'object', properties: { city: { type: 'nonsense' } } }
    const extensions = [{ uri: extension?.uri ?? '', params: { skills: { forecast: { input: invalid } } } }]
    const { service } = await connect(testAgent)
    const errors: unknown[] = []
    const url = await serveMcp(
      { card: { ...card, capabilities: { ...card.capabilities, extensions } }, service },
      { onError: (error) => errors.push(error) },
    )
    expect(`${errors[0]}`).toContain('The schema of the input of the skill "forecast" cannot be used')
    const { client } = await overHttp(url, 'auto')
    const result = await client.callTool({ name: 'forecast', arguments: { city: 'Graz' } })
    expect(textOf(result as never)).toBe('{"degrees":4}')
    const refused = await client.callTool({ name: 'forecast', arguments: {} })
    expect(textOf(refused as never)).toContain('message.parts[0].data.city')
  })

  it('output that violates the schema of the card is an error', async () => {
    const { card, service } = await connect(agent({ name: 'Liar' }, () => 'just words'))
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const extensions = [{ uri: typedSkills, params: { skills: { liar: { output } } } }]
    const url = await serveMcp({ card: { ...card, capabilities: { ...card.capabilities, extensions } }, service })
    const { client } = await overHttp(url, 'auto')
    const result = await client.callTool({ name: 'liar', arguments: { text: 'go' } }).catch((error) => error)
    expect(JSON.stringify(result.content ?? result.message)).toMatch(/schema|structured/i)
  })

  it('a server without an agent is refused', async () => {
    await expect(createMcpServer([])).rejects.toThrow('expected an agent, got none')
  })
})
