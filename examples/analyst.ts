import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LanguageModelV4, LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { getRequestListener } from '@hono/node-server'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { agent, lineageExtension, serve } from 'parley-a2a'
import { type ClientEvent, connect } from 'parley-a2a/client'
import { clientTool, createAgentLoop, localTool, mcpTools, remoteAgent } from 'parley-a2a/loop'
import { z } from 'zod'

/**
 * An analyst calls a data agent and a writer, uses a local tool, a tool of an MCP server and a tool of its caller, and asks the
 * user once. It is killed in the middle and resumes. The model follows rules, so that no API key is needed.
 */

const progressKey = 'https://parley.dev/ext/progress/v1'
const toolResult = 'application/vnd.a2a.tool-result+json'

/** Callers that run tools for the agent name this extension. */
const clientTools = 'https://parley.dev/ext/client-tools/v1'
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
const logger = { debug() {}, info() {}, warn() {}, error: console.error }

interface Addresses {
  readonly data: string
  readonly writer: string
  readonly stock: string
  readonly directory: string
  readonly port: number
}

if (process.argv[2] === 'analyst') await runAnalyst(JSON.parse(process.argv[3] ?? '{}'))
else await runScenario()

/** Runs in a separate process. */
async function runAnalyst({ data, writer, stock, directory, port }: Addresses): Promise<void> {
  const average = localTool({
    name: 'average',
    description: 'The average of numbers.',
    input: z.object({ numbers: z.array(z.number()) }),
    run: ({ numbers }) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length,
  })
  const readNotes = clientTool({ name: 'read_notes', description: 'Notes of the user.', input: z.object({}) })
  const tools = [
    average,
    readNotes,
    mcpTools({ url: stock }, { prefix: 'stock' }),
    remoteAgent(data),
    remoteAgent(writer),
  ]
  const analyst = agent({ name: 'Analyst', recovery: 'resume' }, createAgentLoop({ model: createRuleModel(), tools }))
  const options = { directory, port, logger, turns: { leaseTtl: 1_000 }, dialects: { traceMetadata: true } }
  const server = await serve(analyst, options)
  process.send?.(server.port)
}

/** Chooses the next tool by the results so far. */
function createRuleModel(): LanguageModelV4 {
  let calls = 0
  const call = (toolName: string, input: object): LanguageModelV4StreamPart => {
    return { type: 'tool-call', toolCallId: `${toolName}-${++calls}`, toolName, input: JSON.stringify(input) }
  }
  function next(results: ReadonlyMap<string, string>): LanguageModelV4StreamPart[] {
    const figures = results.get('Data')
    if (figures === undefined)
      return [call('Data', { text: 'Sales by month?' }), call('stock_count', { item: 'teapots' })]
    const numbers = figures.split(', ').map(Number)
    if (!results.has('average')) return [call('average', { numbers })]
    if (!results.has('read_notes')) return [call('read_notes', {})]
    const facts = `On average ${results.get('average')}, ${results.get('stock_count')} in stock, ${results.get('read_notes')}`
    if (!results.has('Writer')) return [call('Writer', { text: facts })]
    return ['# Sales\n\n', `${results.get('Writer')}`, '\n'].map((delta) => ({
      type: 'text-delta',
      id: 'report',
      delta,
    }))
  }
  return {
    specificationVersion: 'v4',
    provider: 'rules',
    modelId: 'rules',
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error('this model only streams')),
    async doStream({ prompt }) {
      const parts = next(resultsIn(prompt))
      const usage = {
        inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: parts.length, text: undefined, reasoning: undefined },
      }
      const finish = { type: 'finish' as const, usage, finishReason: { unified: 'stop' as const, raw: undefined } }
      return {
        stream: new ReadableStream({
          start(controller) {
            for (const part of [...parts, finish]) controller.enqueue(part)
            controller.close()
          },
        }),
      }
    },
  }
}

function resultsIn(prompt: LanguageModelV4Prompt): ReadonlyMap<string, string> {
  const parts = prompt.flatMap((message) => (message.role === 'tool' ? message.content : []))
  const results = parts.flatMap((part) => (part.type === 'tool-result' ? [part] : []))
  return new Map(results.map(({ toolName, output }) => [toolName, 'value' in output ? String(output.value) : '']))
}

/** Runs the other agents, the MCP server and the user. */
async function runScenario(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-analyst-'))
  const calls = { data: 0, writer: 0, stock: 0 }
  const writing = Promise.withResolvers<void>()
  const mayContinue = Promise.withResolvers<void>()

  const data = agent({ name: 'Data', description: 'Knows the figures.' }, async (turn) => {
    calls.data++
    await turn.status('working', 'Reading the books')
    return '3, 4, 8'
  })
  const writer = agent({ name: 'Writer', description: 'Writes well.' }, async (turn) => {
    calls.writer++
    const style = await turn.ask('In which style?')
    await turn.status('working', 'Writing')
    writing.resolve()
    await mayContinue.promise
    return `${turn.text} (in a ${style.text} style).`
  })
  const others = [
    await serve(data, { directory: join(directory, 'data'), port: 0, logger }),
    await serve(writer, { directory: join(directory, 'writer'), port: 0, logger }),
  ]
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: 'stock', version: '1.0.0' })
    server.registerTool('count', { inputSchema: z.object({ item: z.string() }) }, ({ item }) => {
      calls.stock++
      return { content: [{ type: 'text', text: `7 ${item}` }] }
    })
    return server
  })
  const stock = createServer(getRequestListener((request) => fetch(request))).listen(0, '127.0.0.1')
  await once(stock, 'listening')

  let child: ChildProcess | undefined
  async function start(port: number): Promise<number> {
    const addresses: Addresses = {
      data: others[0]?.cardUrl ?? '',
      writer: others[1]?.cardUrl ?? '',
      stock: `http://127.0.0.1:${(stock.address() as AddressInfo).port}`,
      directory: join(directory, 'analyst'),
      port,
    }
    child = fork(fileURLToPath(import.meta.url), ['analyst', JSON.stringify(addresses)])
    const [message] = await once(child, 'message')
    return Number(message)
  }

  async function kill(): Promise<void> {
    if (!child) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  try {
    const port = await start(0)
    const client = await connect(`http://127.0.0.1:${port}`, {
      extensions: [clientTools],
      resume: { minDelay: 100, maxDelay: 500 },
    })
    const conversation = client.conversation()
    const events: ClientEvent[] = []
    const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` }
    const send = async (input: Parameters<typeof conversation.stream>[0]) => {
      for await (const event of conversation.stream(input, { headers })) events.push(event)
    }

    await send('How are sales?')
    const { toolUseId } = toolUseIn(events.at(-1))
    console.log(`The analyst asks its caller to run a tool (${toolUseId}).`)
    await send({ data: { toolUseId, result: 'people like blue' }, mediaType: toolResult })
    assert.equal(textIn(events.at(-1)), 'In which style?')
    console.log('The writer asks the user through the analyst: In which style?')

    const answer = send('plain')
    await writing.promise
    await kill()
    console.log('The analyst is killed while the writer writes, and restarted.')
    await start(port)
    mayContinue.resolve()
    await answer

    const report = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    const text = report.map((part) => ('text' in part ? part.text : '')).join('')
    assert.equal(text, '# Sales\n\nOn average 5, 7 teapots in stock, people like blue (in a plain style).\n')
    assert.deepEqual(calls, { data: 1, writer: 1, stock: 1 })
    const traces = new Set(events.flatMap((event) => ('metadata' in event ? [event.metadata?.traceId] : [])))
    traces.delete(undefined)
    assert.deepEqual([...traces], [traceId])
    console.log(`\n${tree(events)}\n\n${text}\nEvery agent and tool was called once, and all calls are in one trace.`)
  } finally {
    await kill()
    for (const server of others) await server.close()
    stock.closeAllConnections()
    stock.close()
    await rm(directory, { recursive: true, force: true })
  }
}

function messageOf(event: ClientEvent | undefined) {
  if (event?.type === 'task') return event.task.status.message
  return event?.type === 'status' ? event.status.message : undefined
}

function textIn(event: ClientEvent | undefined): string {
  return (messageOf(event)?.parts ?? []).map((part) => ('text' in part ? part.text : '')).join('')
}

function toolUseIn(event: ClientEvent | undefined): { readonly toolUseId: string } {
  const use = messageOf(event)?.parts.find((part) => 'data' in part)
  const { toolUseId } = (use && 'data' in use ? use.data : {}) as { toolUseId?: unknown }
  assert(typeof toolUseId === 'string', 'expected a request to run a tool')
  return { toolUseId }
}

/** The tool calls of the model, with the messages of other agents below them. */
function tree(events: readonly ClientEvent[]): string {
  const linesByTool = new Map<string, Set<string>>()
  for (const event of events) {
    const { metadata } = messageOf(event) ?? {}
    const progress = metadata?.[progressKey] as { tool?: string } | undefined
    if (progress?.tool && !linesByTool.has(progress.tool)) linesByTool.set(progress.tool, new Set())
    const lineage = metadata?.[lineageExtension] as { children?: { agent: string; taskId: string }[] } | undefined
    for (const { agent: name, taskId } of lineage?.children ?? []) {
      linesByTool.get(name)?.add(`│  └─ ${name}, task …${taskId.slice(-6)}: ${textIn(event)}`)
    }
  }
  const branches = [...linesByTool].flatMap(([tool, lines]) => [`├─ ${tool}`, ...lines])
  return [`Analyst (trace ${traceId})`, ...branches, '└─ report'].join('\n')
}
