import { inspect } from 'node:util'
import { SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type Agent, type AgentProfile, agent } from '../../../src/core/agent/agent.ts'
import type { AgentImplementation } from '../../../src/core/agent/agent-function.ts'
import { resolveAgent as reach } from '../../../src/core/node/local-agent.node.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import { connect } from '../../../src/entries/client.ts'
import { clientTool, createAgentLoop, localTool, remoteAgent } from '../../../src/entries/loop.ts'
import { observeClient, openTelemetry } from '../../../src/entries/telemetry.ts'
import type { ServeOptions, Server } from '../../../src/serve/options.ts'
import { serve } from '../../../src/serve/serve.ts'
import { collect, until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { meshPair, startMeshServer } from '../../support/mesh/mesh-peers.ts'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../support/models/scripted-model.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer as serveOne } from '../../support/servers/test-server.ts'
import { recordSpans } from '../../support/telemetry/spans.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const telemetry = openTelemetry()
const watch = observeClient(telemetry)
const push = { loopback: 'allow', schemes: ['http'] } as const

async function start(made: Agent, options: ServeOptions): Promise<Server> {
  const common = {
    port: 0,
    signals: false,
    logger: silentLogger,
    drainDeadline: 0,
    turns: { cancelGrace: 50 },
    telemetry,
  }
  const server = await serve({ ...made, reach }, { ...common, ...options })
  onTestFinished(() => server.close())
  return server
}

async function served(profile: AgentProfile, work: AgentImplementation, options: ServeOptions = {}): Promise<Server> {
  return await start(agent(profile, work), { directory: await temporaryDirectory(), ...options })
}

it('one trace covers the client, the agent, the agent it calls, and the webhook', async () => {
  const { all, named, pathOf } = recordSpans()
  const hook = await startWebhookReceiver()
  const writer = await served({ name: 'Writer' }, async (turn) => {
    // The author's own spans are children of the turn.
    trace.getTracer('author').startSpan('sharpen').end()
    await turn.artifact('text').close('A text')
  })
  const planner = await served({ name: 'Planner' }, async (turn) => (await turn.call(writer.url, 'go')).text, { push })
  const client = await connect(planner.url, { watch })
  const { task } = await client.send('go', { push: { url: hook.url } })
  await until(() => hook.requests.some(({ body }) => body.includes('COMPLETED')))
  await until(() => all().filter(({ name }) => name.startsWith('push ')).length === hook.requests.length)

  expect(pathOf(named('sharpen'))).toEqual([
    'sharpen',
    'invoke_agent Writer',
    'StreamMessage Writer',
    'invoke_agent Writer',
    'invoke_agent Planner',
    'SendMessage Planner',
    'SendMessage Planner',
  ])
  expect(new Set(all().map((span) => span.spanContext().traceId)).size).toBe(1)

  const sends = all().filter(({ name }) => name === 'SendMessage Planner')
  expect(sends.map(({ kind }) => kind).sort()).toEqual([SpanKind.SERVER, SpanKind.CLIENT])
  const server = sends.find(({ kind }) => kind === SpanKind.SERVER)
  expect(server?.attributes).toMatchObject({
    'a2a.operation': 'SendMessage',
    'gen_ai.agent.name': 'Planner',
    'a2a.task.id': task?.id,
    'gen_ai.conversation.id': task?.contextId,
    'a2a.task.state': 'completed',
  })
  expect(named('invoke_agent Planner').attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'Planner',
    'gen_ai.conversation.id': task?.contextId,
    'a2a.task.id': task?.id,
    'a2a.task.state': 'completed',
    'a2a.attempt': 1,
  })
  const deliveries = all().filter(({ name }) => name.startsWith('push '))
  for (const delivery of deliveries) {
    expect(delivery.parentSpanContext?.spanId).toBe(server?.spanContext().spanId)
    expect(delivery.attributes).toMatchObject({ 'a2a.task.id': task?.id, 'http.response.status_code': 204 })
  }
  const spanIds = hook.requests.map(({ headers }) => headers.traceparent?.split('-')[2])
  expect(spanIds).toEqual(deliveries.map((delivery) => delivery.spanContext().spanId))
})

it('a turn that another process continues stays in its trace, and so do its webhooks', async () => {
  const { all, named } = recordSpans()
  const hook = await startWebhookReceiver()
  const directory = await temporaryDirectory()
  const patient = agent({ name: 'Patient', recovery: 'resume' }, async (turn) => {
    await turn.step('look', () => 1)
    const { text } = await turn.ask('Which one?')
    return `Took ${text}`
  })
  const first = await start(patient, { directory, push })
  const client = await connect(first.url, { watch })
  const { task } = await client.send('go', { push: { url: hook.url } })
  await first.close()
  const begun = all().find(({ name, kind }) => name === 'SendMessage Patient' && kind === SpanKind.CLIENT)
  const { traceId } = begun?.spanContext() ?? {}
  expect(named('invoke_agent Patient').spanContext().traceId).toBe(traceId)

  const second = await start(patient, { directory, push })
  const answered = await (await connect(second.url)).send('this', { taskId: task?.id ?? '' })
  expect(answered.text).toBe('Took this')
  await until(() => hook.requests.some(({ body }) => body.includes('COMPLETED')))
  const turns = all().filter(({ name }) => name === 'invoke_agent Patient')
  expect(turns.map((turn) => turn.spanContext().traceId)).toEqual([traceId, traceId])
  expect(turns.map(({ attributes }) => attributes['a2a.task.state'])).toEqual(['input-required', 'completed'])
  expect(hook.requests.map(({ headers }) => headers.traceparent?.split('-')[1])).toEqual(
    hook.requests.map(() => traceId),
  )
  // The call with the answer has its own trace.
  expect(
    all()
      .filter(({ name }) => name === 'SendMessage Patient')
      .at(-1)
      ?.spanContext().traceId,
  ).not.toBe(traceId)
})

it('failed turns and deliveries are error spans, and a caller’s mistake is only an attribute', async () => {
  const { all, named } = recordSpans()
  const hook = await startWebhookReceiver((_, response) => response.writeHead(500).end())
  const options = { push: { ...push, retry: { attempts: 1 } } }
  const server = await served({ name: 'Broken' }, () => Promise.reject(new RangeError('No more paper')), options)
  const client = await connect(server.url)
  await client.send('go', { push: { url: hook.url } })
  await client
    .task('unknown')
    .get()
    .catch(() => {})
  await until(() => all().some(({ name }) => name.startsWith('push ')))
  expect(named('invoke_agent Broken')).toMatchObject({
    status: { code: SpanStatusCode.ERROR, message: 'RangeError' },
    attributes: { 'error.type': 'RangeError', 'a2a.task.state': 'failed' },
    events: [{ name: 'exception' }],
  })
  const delivery = all().find(({ name }) => name.startsWith('push '))
  expect(delivery).toMatchObject({
    status: { code: SpanStatusCode.ERROR, message: 'answered with 500' },
    attributes: { 'http.response.status_code': 500 },
  })
  expect(named('GetTask Broken')).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    attributes: { 'error.type': 'task-not-found' },
  })
})

it.each([false, true])('spans have the text of errors only if asked: %s', async (errorMessages) => {
  const { all } = recordSpans()
  const telemetry = openTelemetry({ errorMessages, events: true })
  const server = await served(
    { name: 'Broken' },
    async (turn) => {
      if (turn.text.includes('reject')) throw new A2AError('unsupported-operation', 'No such canary')
      await turn.status('working', 'a canary')
      throw new RangeError(`No more paper for the canary`)
    },
    { telemetry },
  )
  const client = await connect(server.url, { watch: observeClient(telemetry) })
  await client.send('canary')
  await client.send('reject the canary').catch(() => {})
  await until(() => all().filter(({ name }) => name === 'invoke_agent Broken').length === 2)
  const recorded = inspect(
    all().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
    { depth: null },
  )
  if (!errorMessages) expect(recorded).not.toContain('canary')
  else {
    expect(recorded).toContain('No more paper for the canary')
    expect(recorded).toContain('No such canary')
    expect(recorded).not.toContain('a canary')
  }
})

it('a failed call to another agent is an error span', async () => {
  const { all } = recordSpans()
  const sad = await served({ name: 'Sad' }, (turn) => turn.fail('The cellar is flooded'))
  const asker = await served({ name: 'Asker' }, async (turn) => {
    await turn.call(sad.url, 'go').catch(() => {})
    return 'done'
  })
  await (await connect(asker.url)).send('go')
  const call = all().find(({ name, kind }) => name.startsWith('invoke_agent') && kind === SpanKind.CLIENT)
  expect(call?.status.code).toBe(SpanStatusCode.ERROR)
})

it('with events enabled, every event has a span and trace metadata', async () => {
  const { all, named } = recordSpans()
  const events = { telemetry: openTelemetry({ events: true }), dialects: { traceMetadata: true } }
  const server = await served(
    { name: 'Chatty' },
    async (turn) => {
      await turn.status('working', 'Thinking')
      await turn.artifact('a').close('text')
      return 'Done'
    },
    events,
  )
  const streamed = await collect((await connect(server.url)).stream('go'))
  const of = all().filter(({ name }) => name.startsWith('event '))
  expect(of.map(({ name, attributes }) => `${name} ${attributes['a2a.task.state'] ?? ''}`.trim())).toEqual([
    'event status working',
    'event artifact',
    'event status completed',
  ])
  const turn = named('invoke_agent Chatty').spanContext()
  for (const each of of) expect(each.parentSpanContext?.spanId).toBe(turn.spanId)
  const stamps = streamed.flatMap((event) => ('metadata' in event ? [event.metadata] : []))
  expect(stamps.length).toBeGreaterThan(1)
  for (const stamp of stamps) expect(stamp).toEqual({ traceId: turn.traceId, spanId: turn.spanId })
})

it('a loop has spans for model calls, tools and called agents', async () => {
  const { all, named, pathOf } = recordSpans()
  const writer = await served({ name: 'Writer' }, () => 'A text')
  const add = localTool({
    name: 'add',
    input: z.object({ a: z.number() }),
    run: ({ a }) => {
      if (a > 1) throw new Error('hunter2')
      return a
    },
  })
  const made = createAgentLoop({
    model: scriptedModel(
      toolCalls(['add', '{"a":1}'], ['Writer', '{"text":"go"}']),
      toolCalls(['add', '{"a":2}']),
      textReply('Done'),
    ),
    tools: [add, remoteAgent(writer.url)],
  })
  const looping = await served({ name: 'Looping' }, made)
  await (await connect(looping.url)).send('go')

  const chats = all().filter(({ name }) => name === 'chat mock-model-id')
  expect(chats.map(({ kind, attributes }) => [kind, attributes])).toEqual(
    ['tool-calls', 'tool-calls', 'stop'].map((finish) => [
      SpanKind.CLIENT,
      {
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'mock-provider',
        'gen_ai.request.model': 'mock-model-id',
        'gen_ai.usage.input_tokens': 10,
        'gen_ai.usage.output_tokens': 5,
        'gen_ai.response.finish_reasons': [finish],
      },
    ]),
  )
  const [good, bad] = all().filter(({ name }) => name === 'execute_tool add')
  expect(good).toMatchObject({
    status: { code: SpanStatusCode.UNSET },
    attributes: { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'add', 'gen_ai.tool.call.id': 'call-0' },
  })
  expect(bad).toMatchObject({ status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'tool-failed' } })
  expect(JSON.stringify(all().map(({ attributes, status, events }) => [attributes, status, events]))).not.toContain(
    'hunter2',
  )
  expect(pathOf(named('StreamMessage Writer')).slice(0, 4)).toEqual([
    'StreamMessage Writer',
    'invoke_agent Writer',
    'execute_tool Writer',
    'invoke_agent Looping',
  ])
})

it.each([undefined, 'resume'] as const)('each client tool has one span (recovery: %s)', async (recovery) => {
  const { all, named, pathOf } = recordSpans()
  const input = z.object({})
  const tools = [clientTool({ name: 'locate', input }), clientTool({ name: 'look', input })]
  const loop = createAgentLoop({
    model: scriptedModel(toolCalls(['locate', '{}'], ['look', '{}']), textReply('Done')),
    tools,
  })
  const server = await served({ name: 'Looping', ...(recovery && { recovery }) }, loop)
  const talk = (await connect(server.url)).conversation()
  await talk.send('go')
  await talk.send('Bern')
  expect((await talk.send('a bear')).task?.status.state).toBe('completed')
  await until(() => all().some(({ name }) => name === 'execute_tool look'))
  for (const name of ['execute_tool locate', 'execute_tool look']) {
    expect(pathOf(named(name)).slice(0, 2)).toEqual([name, 'invoke_agent Looping'])
  }
})

it('a loop that is invoked without an agent has spans if it gets a telemetry', async () => {
  const { named, pathOf } = recordSpans()
  const add = localTool({ name: 'add', input: z.object({}), run: (_, { trace: given }) => given?.traceparent })
  const asked = scriptedModel(toolCalls(['add', '{}']), textReply('Done'))
  const loop = createAgentLoop({ model: asked, tools: [add], telemetry, name: 'Alone' })
  const under = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
  await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c', trace: under })
  const [whole, tool] = [named('invoke_agent Alone'), named('execute_tool add')]
  expect(whole.parentSpanContext?.spanId).toBe('b7ad6b7169203331')
  expect(whole.attributes).toMatchObject({ 'a2a.task.id': 't', 'a2a.task.state': 'completed' })
  expect(pathOf(tool)).toEqual(['execute_tool add', 'invoke_agent Alone'])
  const { traceId, spanId } = tool.spanContext()
  expect(lastToolResults(asked)).toEqual([{ type: 'text', value: `00-${traceId}-${spanId}-01` }])
})

it('the span of a stream ends when its reader disconnects', async () => {
  const { all, named } = recordSpans()
  const server = await served({ name: 'Slow' }, async (turn) => {
    await turn.status('working', 'Coming')
    await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
  })
  let taskId: string | undefined
  for await (const event of (await connect(server.url)).stream('go')) {
    taskId = event.type === 'task' ? event.task.id : undefined
    break
  }
  await until(() => all().some(({ name }) => name === 'StreamMessage Slow'))
  const { status, attributes } = named('StreamMessage Slow')
  expect(status.code).toBe(SpanStatusCode.UNSET)
  expect(attributes).toMatchObject({ 'a2a.task.id': taskId, 'a2a.task.state': 'working' })
  expect(taskId).toBeDefined()
})

it('the answer to a sensitive question is in no span, even if the turn fails with it', async () => {
  const { all, named } = recordSpans()
  const events = { telemetry: openTelemetry({ events: true, errorMessages: true }) }
  const work: AgentImplementation = async (turn) => {
    const { text } = await turn.ask('Your password?', { sensitive: true })
    throw new Error(`${text} is wrong`)
  }
  const server = await served({ name: 'Careless' }, work, events)
  const talk = (await connect(server.url, { watch })).conversation()
  await talk.send('go')
  await talk.send('hunter2-hunter2')
  await until(() => all().some(({ name }) => name === 'invoke_agent Careless'))
  expect(named('invoke_agent Careless').status).toMatchObject({ code: SpanStatusCode.ERROR })
  expect(named('invoke_agent Careless').status.message).toMatch(/ is wrong$/)
  expect(
    JSON.stringify(all().map(({ name, attributes, status, events: list }) => [name, attributes, status, list])),
  ).not.toContain('hunter2')
})

it('mesh calls have client and server spans', async () => {
  const { all, named, pathOf } = recordSpans()
  const methods = { price: () => ({ price: 1 }), none: () => Promise.reject(new A2AError('internal', 'x')) }
  const { shop, price } = await meshPair({ methods, telemetry }, { telemetry })
  const { endpoint } = await startMeshServer(price)
  const link = shop.link({ agentId: 'price-agent', endpoint })
  await link.request('price')
  const served = all().find(({ kind }) => kind === SpanKind.SERVER)
  expect(served && pathOf(served)).toEqual(['mesh price', 'mesh price'])
  expect(served?.attributes).toMatchObject({ 'rpc.method': 'price', 'mesh.peer': 'shop-agent' })
  await link.request('none').catch(() => {})
  await until(() => all().filter(({ name }) => name === 'mesh none').length === 2)
  expect(() => named('mesh price')).toThrow('2 spans')
})

it('traces are passed on without an OpenTelemetry SDK', async () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  const seen: unknown[] = []
  const { server } = await serveOne((turn) => void seen.push(turn.trace), { telemetry })
  const client = await connect(server.url)
  await client.send('go', { headers: { traceparent } })
  await client.send('go')
  expect(seen).toEqual([{ traceparent }, undefined])
})
