import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4 } from 'ai/test'
import { map, of, tap } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { finish, scriptedModel, textReply, toldTo, toolCalls } from '../../test/support/models/scripted-model.ts'
import { agent } from '../local-agent.node.ts'
import { inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import { pair } from '../testing/pair.ts'
import { type AgentLoopOptions, createAgentLoop } from './agent-loop.ts'
import { progressNote } from './output.ts'
import type { LoopEvent } from './run-loop.ts'
import { clientTool, localTool } from './tools/tool.ts'

type Part = LanguageModelV4StreamPart

const add = localTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  run: ({ a, b }) => ({ sum: a + b }),
})

async function talkTo(options: AgentLoopOptions) {
  return await pair(agent({ name: 'Looping' }, createAgentLoop(options)))
}

const call = { taskId: 'task', contextId: 'context' }

describe('a loop', () => {
  it('streams what the model says as chunks of one artifact, and sums the usage on the final status', async () => {
    const asked = scriptedModel(toolCalls(['add', '{"a":1,"b":2}']), textReply('It is ', 'three'))
    await using opened = await talkTo({ model: asked, tools: [add], instructions: 'Count.' })
    const events = []
    for await (const event of opened.client.stream('1 and 2?')) events.push(event)

    const chunks = events.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    expect(chunks).toEqual([{ text: 'It is ' }, { text: 'three' }, { text: '' }])
    expect(events.at(-1)).toMatchObject({
      status: { state: 'completed' },
      metadata: { usage: { inputTokens: 20, outputTokens: 10, steps: 2, toolCalls: 1 } },
    })
    expect(toldTo(asked)).toEqual([{ type: 'json', value: { sum: 3 } }])
    expect(asked.doStreamCalls[0]?.prompt[0]).toEqual({ role: 'system', content: 'Count.' })
    expect(asked.doStreamCalls[0]?.tools).toMatchObject([{ name: 'add', inputSchema: { required: ['a', 'b'] } }])
  })

  it.each([
    ['a tool that is not there', ['fly', '{}'], 'There is no tool "fly". There are: add.'],
    ['arguments that do not fit', ['add', '{"a":1,"b":"x"}'], 'The arguments of "add" do not fit: b: '],
    ['arguments that are no JSON', ['add', '{"a":'], 'The arguments of "add" are no JSON'],
    ['arguments that are no object', ['add', '[1]'], 'must be a JSON object'],
  ] as const)('tells the model of %s', async (_, [name, input], problem) => {
    const asked = scriptedModel(toolCalls([name, input]), textReply('Sorry'))
    const { status } = await createAgentLoop({ model: asked, tools: [add] }).invokeSync([{ text: 'go' }], call)
    expect(status.state).toBe('completed')
    expect(toldTo(asked)).toEqual([{ type: 'error-text', value: expect.stringContaining(problem) }])
  })

  it('tells the model of a tool that fails, and of one that hangs, which is cut', async () => {
    const input = z.object({})
    const fails = localTool({ name: 'fails', input, run: () => Promise.reject(new Error('no paper')) })
    const hangs = localTool({ name: 'hangs', input, timeout: 20, run: () => new Promise(() => {}) })
    const asked = scriptedModel(toolCalls(['fails', '{}'], ['hangs', '{}']), textReply('Sorry'))
    await createAgentLoop({ model: asked, tools: [fails, hangs] }).invokeSync([{ text: 'go' }], call)
    expect(toldTo(asked)).toEqual([
      { type: 'error-text', value: 'The tool "fails" failed: no paper' },
      { type: 'error-text', value: 'The tool "hangs" failed: it took longer than 0.02 seconds.' },
    ])
  })

  it('waits for a schema that takes its time, and tells the model of one that breaks', async () => {
    const slow = z.object({}).refine(async () => false, 'is taken')
    const broken = z.object({}).refine(() => {
      throw new Error('no dictionary')
    })
    const run = () => 'never'
    const tools = [localTool({ name: 'slow', input: slow, run }), localTool({ name: 'broken', input: broken, run })]
    const asked = scriptedModel(toolCalls(['slow', '{}'], ['broken', '{}']), textReply('Sorry'))
    await createAgentLoop({ model: asked, tools }).invokeSync([{ text: 'go' }], call)
    expect(toldTo(asked)).toEqual([
      { type: 'error-text', value: 'The arguments of "slow" do not fit: is taken.' },
      { type: 'error-text', value: 'The tool "broken" failed: no dictionary' },
    ])
  })

  it('has the schema of a tool described once for all messages', async () => {
    let asks = 0
    const jsonSchema = { input: () => ({ type: 'object', title: `description ${++asks}` }) }
    const input = {
      '~standard': { version: 1 as const, vendor: 'test', validate: (value: unknown) => ({ value }), jsonSchema },
    }
    const asked = scriptedModel(textReply('Hi'))
    const loop = createAgentLoop({ model: asked, tools: [localTool({ name: 'idle', input, run: () => 1 })] })
    for (const text of ['one', 'two']) await loop.invokeSync([{ text }], call)
    const described = asked.doStreamCalls.map(({ tools }) => tools?.[0])
    expect(described).toMatchObject(Array(2).fill({ inputSchema: { title: 'description 1' } }))
  })

  it.each([
    ['calls tools without end', { maxSteps: 3 }, [toolCalls(['add', '{}'])], 'did not finish within 3 steps'],
    ['calls too many tools', { maxToolCalls: 1 }, [toolCalls(['add', '{}'], ['add', '{}'])], 'more than 1 times'],
    ['says nothing', {}, [[finish('stop')]], 'empty answer'],
    ['ends its stream before its end', {}, [textReply('Well').slice(0, 1)], 'broke off'],
    ['says nothing any more', { modelTimeout: 20 }, [], 'said nothing for 0.02 seconds'],
    ['talks without end', { maxTextLength: 9 }, [textReply('la la la', 'la la la')], 'did not stop'],
    [
      'reports an error',
      {},
      [[{ ...finish('stop'), finishReason: { unified: 'error', raw: undefined } } as Part]],
      'error',
    ],
    [
      'breaks in the middle',
      {},
      [[...textReply('Well').slice(0, 1), { type: 'error', error: 'key 123' }]],
      'broke off',
    ],
  ] as [string, object, Part[][], string][])('fails the task of a model that %s', async (_, limits, steps, reason) => {
    const asked =
      steps.length > 0 ? scriptedModel(...steps) : new MockLanguageModelV4({ doStream: () => new Promise(() => {}) })
    await using opened = await talkTo({ model: asked, tools: [add], ...limits })
    const { task } = await opened.client.send('go')
    expect(task?.status.state).toBe('failed')
    expect(JSON.stringify(task?.status.message)).toContain(reason)
    expect(JSON.stringify(task)).not.toContain('key 123')
  })

  it('tells calls apart to which the model gave the same id, or none', async () => {
    const twice = toolCalls(['add', '{"a":1,"b":1}'], ['add', '{"a":2,"b":2}'], ['add', '{"a":3,"b":3}'])
    const ids = ['same', 'same', '']
    const step = twice.map((part, at) => (part.type === 'tool-call' ? { ...part, toolCallId: ids[at] ?? '' } : part))
    const asked = scriptedModel(step, textReply('Well'))
    await createAgentLoop({ model: asked, tools: [add] }).invokeSync([{ text: 'go' }], call)
    const told = asked.doStreamCalls[1]?.prompt.at(-1)
    expect(told?.role === 'tool' && told.content.map((part) => 'toolCallId' in part && part.toolCallId)).toEqual([
      'same',
      'same-2',
      'call-3',
    ])
  })

  it('tells reasoning and calls as what they are, and gives reasoning back to the model with what its provider noted', async () => {
    const noted = { maker: { signature: 'abc' } }
    const thought: Part[] = [
      { type: 'reasoning-delta', id: 'r', delta: 'Hm, ' },
      { type: 'reasoning-delta', id: 'r', delta: 'adding' },
      { type: 'reasoning-end', id: 'r', providerMetadata: noted },
    ]
    const asked = scriptedModel([...thought, ...toolCalls(['add', '{"a":1,"b":2}'])], textReply('3'))
    await using opened = await talkTo({ model: asked, tools: [add] })
    const told = []
    for await (const event of opened.client.stream('go')) if (event.type === 'status') told.push(event.status.message)
    expect(told.map((message) => message && [message.parts[0], message.metadata?.[progressNote]])).toEqual([
      [{ text: 'Hm, adding' }, { type: 'reasoning' }],
      [{ text: 'Calling add' }, { type: 'tool', tool: 'add', toolCallId: 'call-0' }],
      undefined,
    ])
    expect(asked.doStreamCalls[1]?.prompt.at(-2)?.content).toEqual([
      { type: 'reasoning', text: 'Hm, adding', providerOptions: noted },
      { type: 'tool-call', toolCallId: 'call-0', toolName: 'add', input: { a: 1, b: 2 } },
    ])
  })

  it('refuses limits that make no sense', () => {
    expect(() => createAgentLoop({ model: scriptedModel(), maxSteps: -1 })).toThrow(
      'createAgentLoop(): expected maxSteps to be a number from 0 on, got -1',
    )
  })

  it('has the caller run a tool, and goes on with its result', async () => {
    const locate = clientTool({ name: 'locate', input: z.object({ precise: z.boolean() }) })
    const asked = scriptedModel(toolCalls(['locate', '{"precise":true}']), textReply('You are in Bern'))
    await using opened = await talkTo({ model: asked, tools: [locate] })
    const talk = opened.client.conversation()
    const { task } = await talk.send('Where am I?')
    expect(task?.status.state).toBe('input-required')
    expect(inputRequestIn(task?.status.message)).toMatchObject({ requestId: 'call-0', tool: 'locate' })
    const answer = { data: { toolUseId: 'call-0', result: { city: 'Bern' } }, mediaType: toolResult }
    expect((await talk.send(answer)).task?.status.state).toBe('completed')
    expect(toldTo(asked)).toEqual([{ type: 'text', value: '{"city":"Bern"}' }])
  })

  it('calls a tool that needs approval only if the caller says yes', async () => {
    let ran = 0
    const pay = localTool({ name: 'pay', input: z.object({}), needsApproval: true, run: () => ++ran })
    for (const word of ['no', 'yes']) {
      await using opened = await talkTo({
        model: scriptedModel(toolCalls(['pay', '{}']), textReply('Well')),
        tools: [pay],
      })
      const talk = opened.client.conversation()
      expect((await talk.send('Pay')).task?.status.state).toBe('input-required')
      expect((await talk.send(word)).task?.status.state).toBe('completed')
      expect(ran).toBe(word === 'yes' ? 1 : 0)
    }
  })

  it('runs the tools of one step at the same time', async () => {
    const both = Promise.withResolvers<void>()
    let inside = 0
    const meet = localTool({
      name: 'meet',
      input: z.object({}),
      timeout: 2_000,
      run() {
        if (++inside === 2) both.resolve()
        return both.promise
      },
    })
    const asked = scriptedModel(toolCalls(['meet', '{}'], ['meet', '{}']), textReply('Met'))
    await createAgentLoop({ model: asked, tools: [meet] }).invokeSync([{ text: 'go' }], call)
    expect(toldTo(asked)).toEqual([
      { type: 'json', value: null },
      { type: 'json', value: null },
    ])
  })

  it('passes its events through the operators of its options', async () => {
    const seen: string[] = []
    const marked = map((event: LoopEvent) => ({ ...event, metadata: { marked: true } }))
    const operators = [tap((event: LoopEvent) => seen.push(event.type)), marked]
    await using opened = await talkTo({ model: scriptedModel(textReply('Hi')), operators })
    const events = []
    for await (const event of opened.client.stream('hello')) events.push(event)
    expect(seen).toEqual(['artifact', 'artifact', 'status'])
    expect(events.at(-1)).toMatchObject({ metadata: { marked: true } })
  })

  it('is canceled by the id of its task', async () => {
    const hangs = localTool({ name: 'hangs', input: z.object({}), run: () => new Promise(() => {}) })
    const loop = createAgentLoop({ model: scriptedModel(toolCalls(['hangs', '{}'])), tools: [hangs] })
    const ended = loop.invokeSync([{ text: 'go' }], call)
    await expect.poll(() => loop.cancel('task')).toBe(true)
    expect((await ended).status.state).toBe('canceled')
    expect(loop.cancel('task')).toBe(false)
  })

  it('gives the model as much of the history as its budget allows, the newest first', async () => {
    const asked = scriptedModel(textReply('Hi'))
    const said = (text: string) => ({ messageId: text, role: 'user' as const, parts: [{ text }] })
    const history = [said('old'.repeat(400)), said('new')]
    await createAgentLoop({ model: asked, historyTokens: 100 }).invokeSync([{ text: 'now' }], { ...call, history })
    expect(JSON.stringify(asked.doStreamCalls[0]?.prompt)).toContain('"new"')
    expect(JSON.stringify(asked.doStreamCalls[0]?.prompt)).not.toContain('oldold')
  })
})

describe('an agent', () => {
  async function* iterable() {
    yield 'one'
  }
  it.each([
    ['an observable', of('one')],
    ['an async iterable', iterable()],
    ['a function that gives an observable', () => of('one')],
  ])('is made of %s', async (_, work) => {
    await using opened = await pair(agent({ name: 'Any' }, work))
    const reply = await opened.client.send('go')
    expect([reply.text, reply.task?.status.state]).toEqual(['one', 'completed'])
  })
})
