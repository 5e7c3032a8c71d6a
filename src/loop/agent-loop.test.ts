import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4 } from 'ai/test'
import { map, of, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  finish,
  lastToolResults,
  scriptedModel,
  textReply,
  toolCalls,
} from '../../test/support/models/scripted-model.ts'
import { agent } from '../core/node/local-agent.node.ts'
import { inputRequestIn, toolResult, toolUse } from '../core/protocol/extensions/client-tools.ts'
import { progressKey } from '../core/protocol/extensions/progress.ts'
import { isEmptyText } from '../core/protocol/model.ts'
import { createPair } from '../testing/pair.ts'
import { type AgentLoopOptions, createAgentLoop } from './agent-loop.ts'
import type { LoopEvent } from './run-loop.ts'
import { clientTool, localTool } from './tools/tool.ts'
import { partsResult } from './tools/tool-result.ts'

type Part = LanguageModelV4StreamPart

const add = localTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})

async function connectTo(options: AgentLoopOptions) {
  return await createPair(agent({ name: 'Looping' }, createAgentLoop(options)))
}

const invocation = { taskId: 'task', contextId: 'context' }

/** A model that sends the same chunk until it is canceled, with a pause of some milliseconds. */
function endlessModel(part: Part, pause: number) {
  return new MockLanguageModelV4({
    doStream: async () => ({
      stream: new ReadableStream<Part>({
        async pull(controller) {
          await new Promise((resolve) => setTimeout(resolve, pause))
          for (let n = 0; n < (pause === 0 ? 500 : 1); n++) controller.enqueue(part)
        },
      }),
    }),
  })
}

describe('an agent loop', () => {
  it('model text streams as chunks of one artifact, and the final status has the total usage', async () => {
    const scripted = scriptedModel(toolCalls(['add', '{"a":1,"b":2}']), textReply('It is ', 'three'))
    await using connection = await connectTo({ model: scripted, tools: [add], instructions: 'Count.' })
    const events = []
    for await (const event of connection.client.stream('1 and 2?')) events.push(event)

    const chunks = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    expect(chunks.filter((part) => !isEmptyText(part))).toEqual([{ text: 'It is ' }, { text: 'three' }])
    expect(events.at(-1)).toMatchObject({
      status: { state: 'completed' },
      metadata: { usage: { inputTokens: 20, outputTokens: 10, steps: 2, toolCalls: 1 } },
    })
    expect(lastToolResults(scripted)).toEqual([{ type: 'json', value: { sum: 3 } }])
    expect(scripted.doStreamCalls[0]?.prompt[0]).toEqual({ role: 'system', content: 'Count.' })
    expect(scripted.doStreamCalls[0]?.tools).toMatchObject([{ name: 'add', inputSchema: { required: ['a', 'b'] } }])
  })

  it('toolMessages sends the caller the calls and results of tools that the agent runs', async () => {
    const fails = localTool({ name: 'fails', input: z.object({}), run: () => Promise.reject(new Error('no paper')) })
    const ask = clientTool({ name: 'locate', input: z.object({}) })
    const steps = () => [toolCalls(['add', '{"a":1,"b":2}'], ['fails', '{}'], ['locate', '{}']), textReply('Done')]
    const partsWith = async (toolMessages: boolean) => {
      const model = scriptedModel(...steps())
      await using connection = await connectTo({ model, tools: [add, fails, ask], toolMessages })
      const { client } = connection
      const asked = await client.send('go')
      const taskId = asked.task?.id ?? ''
      const { requestId } = inputRequestIn(asked.task?.status.message) ?? {}
      const answer = (toolUseId: unknown) =>
        client.send({ data: { toolUseId: `${toolUseId}`, result: 'Bern' }, mediaType: toolResult }, { taskId })
      // The calls of the agent's own tools cannot be answered by the caller.
      const uses = asked.task?.history.flatMap(({ parts }) => parts).filter(({ mediaType }) => mediaType === toolUse)
      for (const part of uses ?? []) {
        const id = 'data' in part ? (part.data as { toolUseId: string }).toolUseId : ''
        if (id !== requestId) await expect(answer(id)).rejects.toMatchObject({ code: 'invalid-params' })
      }
      const { task } = await answer(requestId)
      expect(task?.status.state).toBe('completed')
      const messages = task?.history.filter(({ role, metadata }) => role === 'agent' && metadata?.[progressKey]) ?? []
      return messages.flatMap(({ parts }) => parts).flatMap((part) => ('data' in part ? [part] : []))
    }
    expect(await partsWith(false)).toEqual([])
    const toolUseId = expect.any(String)
    expect(await partsWith(true)).toEqual([
      { mediaType: toolUse, data: { toolUseId, name: 'add', arguments: { a: 1, b: 2 } } },
      { mediaType: toolUse, data: { toolUseId, name: 'fails', arguments: {} } },
      { mediaType: toolResult, data: { toolUseId, result: { sum: 3 } } },
      { mediaType: toolResult, data: { toolUseId, result: 'The tool "fails" failed: no paper', isError: true } },
    ])
  })

  it('empty pieces of text are not sent', async () => {
    await using connection = await connectTo({ model: scriptedModel(textReply('', 'one', '', 'two', '')) })
    const chunks = []
    for await (const event of connection.client.stream('go')) {
      if (event.type === 'artifact') chunks.push(...event.artifact.parts)
    }
    expect(chunks.filter((part) => !isEmptyText(part))).toEqual([{ text: 'one' }, { text: 'two' }])
  })

  it.each([
    ['an unknown tool', ['fly', '{}'], 'There is no tool "fly". There are: add.'],
    ['invalid arguments', ['add', '{"a":1,"b":"x"}'], 'The arguments of "add" do not fit: b: '],
    ['arguments that are not JSON', ['add', '{"a":'], 'The arguments of "add" are not JSON'],
    ['arguments that are not an object', ['add', '[1]'], 'must be a JSON object'],
  ] as const)('the model receives an error for %s', async (_, [name, input], problem) => {
    const scripted = scriptedModel(toolCalls([name, input]), textReply('Sorry'))
    const { status } = await createAgentLoop({ model: scripted, tools: [add] }).invokeSync([{ text: 'go' }], invocation)
    expect(status.state).toBe('completed')
    expect(lastToolResults(scripted)).toEqual([{ type: 'error-text', value: expect.stringContaining(problem) }])
  })

  it('the model receives an error for a tool that fails and for one that times out', async () => {
    const input = z.object({})
    const fails = localTool({ name: 'fails', input, run: () => Promise.reject(new Error('no paper')) })
    const hangs = localTool({ name: 'hangs', input, timeout: 20, run: () => new Promise(() => {}) })
    const scripted = scriptedModel(toolCalls(['fails', '{}'], ['hangs', '{}']), textReply('Sorry'))
    await createAgentLoop({ model: scripted, tools: [fails, hangs] }).invokeSync([{ text: 'go' }], invocation)
    expect(lastToolResults(scripted)).toEqual([
      { type: 'error-text', value: 'The tool "fails" failed: no paper' },
      { type: 'error-text', value: 'The tool "hangs" failed: it took longer than 0.02 seconds.' },
    ])
  })

  const endless: readonly (readonly [string, Part])[] = [
    ['tool-input deltas', { type: 'tool-input-delta', id: '1', delta: 'x' }],
    ['empty tool-input deltas', { type: 'tool-input-delta', id: '1', delta: '' }],
    ['raw chunks', { type: 'raw', rawValue: {} }],
    ['metadata', { type: 'response-metadata', id: '1' }],
    ['empty text', { type: 'text-delta', id: '1', delta: '' }],
    ['empty reasoning', { type: 'reasoning-delta', id: '1', delta: '' }],
    ['starts of text', { type: 'text-start', id: '1' }],
    ['sources', { type: 'source', sourceType: 'url', id: '1', url: 'https://example.com' }],
    ['files', { type: 'file', mediaType: 'text/plain', data: { type: 'data', data: '' } }],
  ]

  it.each(endless)('a model that sends %s without end fails the task', async (_, part) => {
    const model = endlessModel(part, 0)
    const loop = createAgentLoop({ model, maxTextLength: 1_000 })
    const { status } = await loop.invokeSync([{ text: 'go' }], invocation)
    expect(status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: expect.stringMatching(/more than \d+/) }] },
    })
  })

  it.each(endless.slice(1, 6))('a model that sends %s slowly has sent nothing', async (_, part) => {
    const loop = createAgentLoop({ model: endlessModel(part, 5), modelTimeout: 30 })
    const { status } = await loop.invokeSync([{ text: 'go' }], invocation)
    expect(status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: expect.stringContaining('sent nothing') }] },
    })
  })

  it('a model that sends content slowly without end fails the task after answerTimeout', async () => {
    const model = endlessModel({ type: 'text-delta', id: '1', delta: 'x' }, 5)
    const loop = createAgentLoop({ model, answerTimeout: 60, modelTimeout: 60_000 })
    const { status } = await loop.invokeSync([{ text: 'go' }], invocation)
    expect(status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: expect.stringContaining('took longer') }] },
    })
  })

  it('the model receives long tool results cut, with a note', async () => {
    const input = z.object({})
    const text = localTool({ name: 'text', input, run: () => 'x'.repeat(5_000) })
    const json = localTool({ name: 'json', input, run: () => ({ list: Array.from({ length: 5_000 }, () => 1) }) })
    const error = localTool({ name: 'error', input, run: () => Promise.reject(new Error('y'.repeat(5_000))) })
    const parts = localTool({
      name: 'parts',
      input,
      run: () =>
        partsResult([{ text: 'z'.repeat(800) }, { text: 'z'.repeat(800) }, { raw: 'AAAA', mediaType: 'image/png' }]),
    })
    const scripted = scriptedModel(
      toolCalls(['text', '{}'], ['json', '{}'], ['error', '{}'], ['parts', '{}']),
      textReply('Long'),
    )
    const loop = createAgentLoop({ model: scripted, tools: [text, json, error, parts], maxResultLength: 1_000 })
    await loop.invokeSync([{ text: 'go' }], invocation)
    const results = lastToolResults(scripted) as { readonly type: string; readonly value: unknown }[]
    expect(results.map(({ type }) => type)).toEqual(['text', 'text', 'error-text', 'content'])
    expect(results[0]?.value).toBe(
      `${'x'.repeat(1_000)}\n[Cut: 4000 of 5000 characters are left out. Request a smaller part.]`,
    )
    for (const { value } of results.slice(0, 3)) expect(`${value}`.length).toBeLessThan(1_200)
    expect(results[3]?.value).toMatchObject([
      { text: 'z'.repeat(800) },
      { text: expect.stringMatching(/^z{200}\n\[Cut: 600 of 800/) },
      { type: 'file' },
    ])
  })

  it('the loop awaits asynchronous schemas, and the model receives an error for one that throws', async () => {
    const slow = z.object({}).refine(async () => false, 'is taken')
    const broken = z.object({}).refine(() => {
      throw new Error('no dictionary')
    })
    const run = () => 'never'
    const tools = [localTool({ name: 'slow', input: slow, run }), localTool({ name: 'broken', input: broken, run })]
    const scripted = scriptedModel(toolCalls(['slow', '{}'], ['broken', '{}']), textReply('Sorry'))
    await createAgentLoop({ model: scripted, tools }).invokeSync([{ text: 'go' }], invocation)
    expect(lastToolResults(scripted)).toEqual([
      { type: 'error-text', value: 'The arguments of "slow" do not fit: is taken.' },
      { type: 'error-text', value: 'The tool "broken" failed: no dictionary' },
    ])
  })

  it('the JSON Schema of a tool is created once for all messages', async () => {
    let descriptions = 0
    const jsonSchema = { input: () => ({ type: 'object', title: `description ${++descriptions}` }) }
    const input = {
      '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema },
    }
    const scripted = scriptedModel(textReply('Hi'))
    const loop = createAgentLoop({ model: scripted, tools: [localTool({ name: 'idle', input, run: () => 1 })] })
    for (const text of ['one', 'two']) await loop.invokeSync([{ text }], invocation)
    const definitions = scripted.doStreamCalls.map(({ tools }) => tools?.[0])
    expect(definitions).toMatchObject(Array(2).fill({ inputSchema: { title: 'description 1' } }))
  })

  it.each([
    ['calls tools endlessly', { maxSteps: 3 }, [toolCalls(['add', '{}'])], 'did not finish within 3 steps'],
    ['calls too many tools', { maxToolCalls: 1 }, [toolCalls(['add', '{}'], ['add', '{}'])], 'more than 1 times'],
    ['sends an empty answer', {}, [[finish('stop')]], 'empty answer'],
    ['ends its stream without a finish part', {}, [textReply('Well').slice(0, 1)], 'broke off'],
    ['sends nothing until the timeout', { modelTimeout: 20 }, [], 'sent nothing for 0.02 seconds'],
    ['exceeds maxTextLength', { maxTextLength: 9 }, [textReply('la la la', 'la la la')], 'more than 9 characters'],
    [
      'calls too many tools at once',
      { maxToolCalls: 2 },
      [toolCalls(['a', ''], ['b', ''], ['c', ''])],
      'more than 2 times',
    ],
    [
      'reports an error',
      {},
      [[{ ...finish('stop'), finishReason: { unified: 'error', raw: undefined } } as Part]],
      'error',
    ],
    [
      'fails in the middle of its answer',
      {},
      [[...textReply('Well').slice(0, 1), { type: 'error', error: 'key 123' }]],
      'broke off',
    ],
  ] as [string, object, Part[][], string][])('a task fails if the model %s', async (_, limits, steps, reason) => {
    const scripted =
      steps.length > 0 ? scriptedModel(...steps) : new MockLanguageModelV4({ doStream: () => new Promise(() => {}) })
    await using connection = await connectTo({ model: scripted, tools: [add], ...limits })
    const { task } = await connection.client.send('go')
    expect(task?.status.state).toBe('failed')
    expect(JSON.stringify(task?.status.message)).toContain(reason)
    expect(JSON.stringify(task)).not.toContain('key 123')
  })

  it('tool calls with the same id, or without one, get distinct ids', async () => {
    const parts = toolCalls(['add', '{"a":1,"b":1}'], ['add', '{"a":2,"b":2}'], ['add', '{"a":3,"b":3}'])
    const ids = ['same', 'same', '']
    const step = parts.map((part, index) =>
      part.type === 'tool-call' ? { ...part, toolCallId: ids[index] ?? '' } : part,
    )
    const scripted = scriptedModel(step, textReply('Well'))
    await createAgentLoop({ model: scripted, tools: [add] }).invokeSync([{ text: 'go' }], invocation)
    const results = scripted.doStreamCalls[1]?.prompt.at(-1)
    expect(results?.role === 'tool' && results.content.map((part) => 'toolCallId' in part && part.toolCallId)).toEqual([
      'same',
      'same-2',
      'call-3',
    ])
  })

  it('reasoning and tool calls are emitted as progress, and reasoning returns to the model with its provider metadata', async () => {
    const providerMetadata = { maker: { signature: 'abc' } }
    const reasoning: Part[] = [
      { type: 'reasoning-delta', id: 'r', delta: 'Hm, ' },
      { type: 'reasoning-delta', id: 'r', delta: 'adding' },
      { type: 'reasoning-end', id: 'r', providerMetadata },
    ]
    const scripted = scriptedModel([...reasoning, ...toolCalls(['add', '{"a":1,"b":2}'])], textReply('3'))
    await using connection = await connectTo({ model: scripted, tools: [add] })
    const messages = []
    for await (const event of connection.client.stream('go')) {
      if (event.type === 'status') messages.push(event.status.message)
    }
    expect(messages.map((message) => message && [message.parts[0], message.metadata?.[progressKey]])).toEqual([
      undefined,
      [{ text: 'Hm, adding' }, { type: 'reasoning' }],
      [{ text: 'Calling add' }, { type: 'tool', tool: 'add', toolCallId: 'call-0' }],
      undefined,
    ])
    expect(scripted.doStreamCalls[1]?.prompt.at(-2)?.content).toEqual([
      { type: 'reasoning', text: 'Hm, adding', providerOptions: providerMetadata },
      { type: 'tool-call', toolCallId: 'call-0', toolName: 'add', input: { a: 1, b: 2 } },
    ])
  })

  it('a negative limit is refused', () => {
    expect(() => createAgentLoop({ model: scriptedModel(), maxSteps: -1 })).toThrow(
      'createAgentLoop(): expected maxSteps to be a number of at least 0, got -1',
    )
  })

  it('the caller runs a client tool, and the model receives its result', async () => {
    const locate = clientTool({ name: 'locate', input: z.object({ precise: z.boolean() }) })
    const scripted = scriptedModel(toolCalls(['locate', '{"precise":true}']), textReply('You are in Bern'))
    await using connection = await connectTo({ model: scripted, tools: [locate] })
    const conversation = connection.client.conversation()
    const { task } = await conversation.send('Where am I?')
    expect(task?.status.state).toBe('input-required')
    expect(inputRequestIn(task?.status.message)).toMatchObject({ requestId: 'call-0', tool: 'locate' })
    const answer = { data: { toolUseId: 'call-0', result: { city: 'Bern' } }, mediaType: toolResult }
    expect((await conversation.send(answer)).task?.status.state).toBe('completed')
    expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: '{"city":"Bern"}' }])
  })

  it('a tool with needsApproval runs only if the caller approves', async () => {
    let runs = 0
    const pay = localTool({ name: 'pay', input: z.object({}), needsApproval: true, run: () => ++runs })
    for (const answer of ['no', 'yes']) {
      await using connection = await connectTo({
        model: scriptedModel(toolCalls(['pay', '{}']), textReply('Well')),
        tools: [pay],
      })
      const conversation = connection.client.conversation()
      expect((await conversation.send('Pay')).task?.status.state).toBe('input-required')
      expect((await conversation.send(answer)).task?.status.state).toBe('completed')
      expect(runs).toBe(answer === 'yes' ? 1 : 0)
    }
  })

  it('the tools of one step run concurrently', async () => {
    const both = Promise.withResolvers<void>()
    let running = 0
    const meet = localTool({
      name: 'meet',
      input: z.object({}),
      timeout: 2_000,
      run() {
        if (++running === 2) both.resolve()
        return both.promise
      },
    })
    const scripted = scriptedModel(toolCalls(['meet', '{}'], ['meet', '{}']), textReply('Met'))
    await createAgentLoop({ model: scripted, tools: [meet] }).invokeSync([{ text: 'go' }], invocation)
    expect(lastToolResults(scripted)).toEqual([
      { type: 'json', value: null },
      { type: 'json', value: null },
    ])
  })

  it('events pass through the configured operators', async () => {
    const seen: string[] = []
    const addMark = map((event: LoopEvent) => ({ ...event, metadata: { marked: true } }))
    const operators = [tap((event: LoopEvent) => seen.push(event.type)), addMark]
    await using connection = await connectTo({ model: scriptedModel(textReply('Hi')), operators })
    const events = []
    for await (const event of connection.client.stream('hello')) events.push(event)
    expect(seen).toEqual(['artifact', 'artifact', 'status'])
    expect(events.at(-1)).toMatchObject({ metadata: { marked: true } })
  })

  it('cancel stops the loop of a task', async () => {
    const hangs = localTool({ name: 'hangs', input: z.object({}), run: () => new Promise(() => {}) })
    const loop = createAgentLoop({ model: scriptedModel(toolCalls(['hangs', '{}'])), tools: [hangs] })
    const outcome = loop.invokeSync([{ text: 'go' }], invocation)
    await expect.poll(() => loop.cancel('task')).toBe(true)
    expect((await outcome).status.state).toBe('canceled')
    expect(loop.cancel('task')).toBe(false)
  })
})

describe('an agent implementation', () => {
  async function* iterable() {
    yield 'one'
  }
  it.each([
    ['an observable', of('one')],
    ['an async iterable', iterable()],
    ['a function that returns an observable', () => of('one')],
  ])('%s implements an agent', async (_, implementation) => {
    await using connection = await createPair(agent({ name: 'Any' }, implementation))
    const reply = await connection.client.send('go')
    expect([reply.text, reply.task?.status.state]).toEqual(['one', 'completed'])
  })
})
