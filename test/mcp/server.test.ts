import { fileURLToPath } from 'node:url'
import { getRequestListener } from '@hono/node-server'
import { Client, type ClientOptions, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.ts'
import { agent } from '../../src/entries/index.ts'
import { type McpServerOptions, mcpServer } from '../../src/entries/mcp.ts'
import type { McpAgents } from '../../src/mcp/agents.ts'
import { typedSkills } from '../../src/protocol/extensions/typed-skills.ts'
import { askingAgent, testAgent } from '../support/mcp/test-agent.ts'
import { startHttpServer } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const script = fileURLToPath(new URL('../support/mcp/agent-server.ts', import.meta.url))

type Answer = 'accept' | 'decline'

/** A client of the official package; with an answer, it can be asked. */
function clientOf(options: ClientOptions, answer?: Answer, content: object = { answer: 'blue' }) {
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

async function exposed(agents: McpAgents, options: McpServerOptions = {}): Promise<string> {
  const server = await mcpServer(agents, { maxResult: 100_000, ...options })
  onTestFinished(() => server.close())
  return await startHttpServer(getRequestListener((request) => server.fetch(request)))
}

async function overHttp(url: string, mode: 'auto' | 'legacy', answer?: Answer, content?: object) {
  const made = clientOf({ versionNegotiation: { mode } }, answer, content)
  onTestFinished(() => made.client.close())
  await made.client.connect(new StreamableHTTPClientTransport(new URL(url)))
  return made
}

/** One process for all that need no answer: it takes long to begin. */
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
  const made = await startStdio(mode, answer)
  onTestFinished(() => made.client.close())
  return made
}

async function startStdio(mode: 'auto' | 'legacy', answer?: Answer) {
  const made = clientOf({ versionNegotiation: { mode } }, answer)
  await made.client.connect(new StdioClientTransport({ command: process.execPath, args: [script] }))
  return made
}

const ways = [
  ['stdio', (answer?: Answer) => overStdio('legacy', answer)],
  ['stdio, newest version', (answer?: Answer) => overStdio('auto', answer)],
  ['HTTP', async (answer?: Answer) => overHttp(await exposed(testAgent), 'legacy', answer)],
  ['HTTP, newest version', async (answer?: Answer) => overHttp(await exposed(testAgent), 'auto', answer)],
] as const

const textOf = ({ content }: { content: readonly { type: string; text?: string }[] }) =>
  content.map(({ text }) => text).join('\n')

describe.each(ways)('skills as tools of MCP over %s', (_, open) => {
  it('are told with what they take and give', async () => {
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

  it('take and give data, or text', async () => {
    const { client } = await open()
    const typed = await client.callTool({ name: 'forecast', arguments: { city: 'Graz' } })
    expect(typed).toMatchObject({ structuredContent: { degrees: 4 } })
    const plain = await client.callTool({ name: 'echo', arguments: { text: 'hello' } })
    expect(plain.content).toEqual([{ type: 'text', text: 'You said hello' }])
    const wrapped = await client.callTool({ name: 'double', arguments: { input: 4 } })
    expect(JSON.stringify(wrapped.structuredContent)).toContain('8')
  })

  it('refuse arguments that do not fit, and say why', async () => {
    const { client } = await open()
    const refused = await client.callTool({ name: 'forecast', arguments: { city: 'G' } })
    expect(refused.isError).toBe(true)
    expect(textOf(refused as never)).toMatch(/city/)
  })

  it('give artifacts as content', async () => {
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
    ['refuse', 'The task is failed: Not for you.'],
    ['sign-in', 'The agent needs to be authorized first: See https://example.com'],
    ['big', 'The result has 2'],
    ['crash', 'The agent failed unexpectedly'],
  ])('tell in words that the task of %s went wrong', async (name, text) => {
    const { client } = await open()
    const result = await client.callTool({ name, arguments: { text: 'go' } })
    expect(result.isError).toBe(true)
    expect(textOf(result as never)).toContain(text)
    expect(JSON.stringify(result)).not.toContain('secret 123')
  })

  it('tell their progress, and are canceled with the call', async () => {
    const { client } = await open()
    const before = Number(textOf((await client.callTool({ name: 'canceled', arguments: { text: '' } })) as never))
    const controller = new AbortController()
    const told: unknown[] = []
    const call = client.callTool(
      { name: 'slow', arguments: { text: 'go' } },
      {
        signal: controller.signal,
        onprogress(progress) {
          told.push(progress)
          controller.abort()
        },
      },
    )
    await expect(call).rejects.toThrow()
    expect(told).toEqual([{ progress: 1, message: 'Warming up' }])
    const canceled = async () => textOf((await client.callTool({ name: 'canceled', arguments: { text: '' } })) as never)
    await expect.poll(canceled, { timeout: 10_000 }).toBe(`${before + 1}`)
  })

  it('are in the trace of whoever calls, if it tells one that is none of nonsense', async () => {
    const { client } = await open()
    const traced = async (traceparent: string) => {
      const given = { name: 'trace', arguments: { text: 'go' }, _meta: { traceparent } }
      return textOf((await client.callTool(given)) as never)
    }
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    expect(await traced(traceparent)).toContain(traceparent)
    expect(await traced('nonsense')).toContain('none')
  })

  it('say how to answer where nobody can be asked', async () => {
    const { client } = await open()
    const asked = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
    expect(asked.isError).toBe(true)
    const text = textOf(asked as never)
    expect(text).toContain('The agent asks: Which colour for the chair?')
    const [, taskId] = /call answer_task with taskId "([^"]+)"/.exec(text) ?? []
    const answered = await client.callTool({ name: 'answer_task', arguments: { taskId, answer: 'red' } })
    expect(textOf(answered as never)).toBe('{"item":"chair","colour":"red"}')
    const again = await client.callTool({ name: 'answer_task', arguments: { taskId, answer: 'red' } })
    expect(again).toMatchObject({ isError: true })
  })

  it('have the person answer what the agent asks', async () => {
    const { client, questions } = await open('accept')
    const { structuredContent } = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
    expect(structuredContent).toEqual({ item: 'chair', colour: 'blue' })
    expect(questions).toMatchObject([
      { message: 'Which colour for the chair?', requestedSchema: { required: ['answer'] } },
    ])
  })

  it('cancel the task if the person does not answer', async () => {
    const { client } = await open('decline')
    const result = await client.callTool({ name: 'order', arguments: { item: 'chair' } })
    expect(result.isError).toBe(true)
    expect(textOf(result as never)).toContain('its task is canceled')
  })
})

describe('an MCP server of agents', () => {
  it('has the tools of several, by the names of the agents or by prefixes', async () => {
    const { server } = await startTestServer((turn) => `Far: ${turn.text}`, { profile: { name: 'Far away' } })
    const near = await connect(agent({ name: 'Near' }, (turn) => `Near: ${turn.text}`))
    const listed = await overHttp(await exposed([server.url, near]), 'auto')
    const names = (await listed.client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(['far_away_far-away', 'far_away_answer_task', 'near_near', 'near_answer_task'])

    const named = await overHttp(
      await exposed({ a: server.url, b: { card: near.card, service: near.service } }),
      'auto',
    )
    const call = async (name: string) =>
      textOf((await named.client.callTool({ name, arguments: { text: 'hi' } })) as never)
    expect([await call('a_far-away'), await call('b_near')]).toEqual(['Far: hi', 'Near: hi'])
  })

  it('asks by the form that the agent gives, and answers by the id of its request', async () => {
    const { client, questions } = await overHttp(await exposed(askingAgent), 'auto', 'accept', { size: 4, gift: true })
    const result = await client.callTool({ name: 'asking', arguments: { text: 'go' } })
    expect(questions).toMatchObject([{ requestedSchema: { properties: { size: { type: 'integer' } } } }])
    expect(textOf(result as never)).toContain('{"toolUseId":"r-1","result":{"size":4,"gift":true}}')
  })

  it('asks nobody for secrets', async () => {
    const { client, questions } = await overHttp(await exposed(askingAgent), 'auto', 'accept')
    const result = await client.callTool({ name: 'asking', arguments: { text: 'secret' } })
    expect(textOf(result as never)).toContain('asks for something secret')
    expect(questions).toEqual([])
  })

  it('refuses pages of other hosts, and answers with a state that it has not made', async () => {
    const url = await exposed(testAgent)
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

  it('tells of schemas that it cannot use, and leaves them to the agent', async () => {
    const card = (await connect(testAgent)).card
    const [extension] = card.capabilities.extensions ?? []
    const wrong = { type: 'object', properties: { city: { type: 'nonsense' } } }
    const extensions = [{ uri: extension?.uri ?? '', params: { skills: { forecast: { input: wrong } } } }]
    const { service } = await connect(testAgent)
    const errors: unknown[] = []
    const url = await exposed(
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

  it('says so if an agent does not keep to the schema that its card tells', async () => {
    const { card, service } = await connect(agent({ name: 'Liar' }, () => 'just words'))
    const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    const extensions = [{ uri: typedSkills, params: { skills: { liar: { output } } } }]
    const url = await exposed({ card: { ...card, capabilities: { ...card.capabilities, extensions } }, service })
    const { client } = await overHttp(url, 'auto')
    const lied = await client.callTool({ name: 'liar', arguments: { text: 'go' } }).catch((error) => error)
    expect(JSON.stringify(lied.content ?? lied.message)).toMatch(/schema|structured/i)
  })

  it('is refused without an agent', async () => {
    await expect(mcpServer([])).rejects.toThrow('expected an agent, got none')
  })
})
