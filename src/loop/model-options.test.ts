import { MockLanguageModelV3, MockLanguageModelV4, simulateReadableStream } from 'ai/test'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toolCalls } from '../../test/support/models/scripted-model.ts'
import { agent } from '../core/node/local-agent.node.ts'
import { usageKey } from '../core/protocol/extensions/usage.ts'
import { connect } from '../entries/client.ts'
import { type AgentLoopOptions, createAgentLoop } from './agent-loop.ts'
import { localTool } from './tools/tool.ts'
import { partsResult } from './tools/tool-result.ts'

const weather = localTool({
  name: 'weather',
  input: z.object({ city: z.string() }),
  run: ({ city }) => `Sunny in ${city}`,
})
const callWeather = toolCalls(['weather', '{"city":"Oslo"}'])

async function ask(options: AgentLoopOptions) {
  const client = await connect(agent({ name: 'Clerk' }, createAgentLoop(options)))
  return { client, reply: await client.send('go') }
}

it('the model gets its settings in every step, and the choice of tools in the first one', async () => {
  const model = scriptedModel(callWeather, textReply('Sunny'))
  const settings = { temperature: 0.2, maxOutputTokens: 100, providerOptions: { openai: { user: 'ann' } } }
  await ask({ model, settings, tools: [weather], toolChoice: { tool: 'weather' } })
  expect(model.doStreamCalls).toMatchObject([settings, settings])
  expect(model.doStreamCalls.map(({ toolChoice }) => toolChoice)).toEqual([
    { type: 'tool', toolName: 'weather' },
    undefined,
  ])
})

it('instructions can be a function of the message', async () => {
  const model = scriptedModel(textReply('Hello'))
  await ask({ model, instructions: async ({ turn }) => `You talk to ${turn?.principal.id}.` })
  expect(model.doStreamCalls[0]?.prompt[0]).toEqual({ role: 'system', content: 'You talk to anonymous.' })
})

it('a structured answer is data, after the model has corrected it', async () => {
  const model = scriptedModel(
    textReply('It is five.'),
    textReply('{"total":', '"5"}'),
    textReply('```json\n{"total":5}\n```'),
  )
  const { reply } = await ask({ model, output: z.object({ total: z.number() }) })
  expect(reply.task?.status.state).toBe('completed')
  expect(reply.output).toMatchObject({ text: '', data: [{ total: 5 }] })
  expect(model.doStreamCalls[0]?.responseFormat).toMatchObject({
    type: 'json',
    schema: { properties: { total: { type: 'number' } } },
  })
  expect(JSON.stringify(model.doStreamCalls[1]?.prompt.at(-1))).toContain('it is no JSON')
  expect(JSON.stringify(model.doStreamCalls[2]?.prompt.at(-1))).toContain('total')
})

it('a model that never gives the structured answer fails the task', async () => {
  const { reply } = await ask({ model: scriptedModel(textReply('{"sum":5}')), output: z.object({ total: z.number() }) })
  expect(reply.task?.status.state).toBe('failed')
  expect(reply.text).toContain('The model gave no output that fits the schema: ')
  expect(reply.output.text).toBe('')
})

it('the fallback model answers if the model fails before it has sent anything, and is counted', async () => {
  const broken = new MockLanguageModelV4({
    doStream: async () => {
      throw new Error('overloaded')
    },
  })
  const fallbackModel = scriptedModel(textReply('From the other one'))
  const { reply } = await ask({ model: broken, fallbackModel })
  expect(reply.text).toBe('From the other one')
  expect(reply.task?.metadata?.[usageKey]).toMatchObject({ models: [fallbackModel.modelId] })

  const breaksOff = new MockLanguageModelV4({
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: 'text-delta', id: '1', delta: 'Half an ' },
          { type: 'error', error: new Error('lost') },
        ],
      }),
    }),
  })
  const unused = scriptedModel(textReply('never'))
  expect((await ask({ model: breaksOff, fallbackModel: unused })).reply.task?.status.state).toBe('failed')
  expect(unused.doStreamCalls).toEqual([])
})

it('a message that has used up its token budget calls the model no more', async () => {
  const model = scriptedModel(callWeather)
  const { reply } = await ask({ model, tools: [weather], tokenBudget: 30 })
  expect(reply.task?.status.state).toBe('failed')
  expect(reply.text).toBe('The model used up its budget of 30 tokens before it was done.')
  expect(model.doStreamCalls).toHaveLength(2)
})

it('the loop reports the usage of its turn', async () => {
  const model = scriptedModel(callWeather, textReply('Sunny'))
  const { client, reply } = await ask({ model, tools: [weather] })
  const used = { inputTokens: 20, outputTokens: 10, models: [model.modelId] }
  expect(reply.task?.metadata?.[usageKey]).toEqual(used)
  expect(client.card.capabilities.extensions?.map(({ uri }) => uri)).toContain(usageKey)
})

it('models of specification v3 get and send files in their own form', async () => {
  const picture = localTool({
    name: 'picture',
    input: z.object({}),
    run: () => partsResult([{ raw: 'aGk=', mediaType: 'image/png' }]),
  })
  const finish = textReply().at(-1) as never
  const steps = [
    toolCalls(['picture', '{}']),
    [{ type: 'file', mediaType: 'image/png', data: 'aGk=' }, ...textReply('Here')],
  ]
  const model = new MockLanguageModelV3({
    doStream: async () => ({ stream: simulateReadableStream({ chunks: (steps.shift() ?? [finish]) as never[] }) }),
  })
  const client = await connect(
    agent({ name: 'Clerk', inputModes: ['text/plain', 'image/*'] }, createAgentLoop({ model, tools: [picture] })),
  )
  const reply = await client.send(['Look', { raw: 'aGk=', mediaType: 'image/png' }])
  expect(reply.task?.status.state).toBe('completed')
  expect(reply.output.files.map(({ bytes }) => new TextDecoder().decode(bytes))).toEqual(['hi'])
  const [first, second] = model.doStreamCalls
  expect(first?.prompt[0]?.content).toContainEqual(expect.objectContaining({ type: 'file', data: 'aGk=' }))
  expect(JSON.stringify(second?.prompt.at(-1))).toContain('"type":"file-data","data":"aGk="')
})

it.each([
  [{ settings: { temperature: 'hot' } }, 'settings.temperature: expected a number'],
  [{ settings: { temprature: 1 } }, 'temprature'],
  [{ toolChoice: 'any' }, "'auto', 'none', 'required' or { tool }"],
  [{ toolChoice: { name: 'weather' } }, 'toolChoice.tool: expected a non-empty string'],
  [{ output: {} }, 'output: expected a schema of Standard Schema'],
  [{ tokenBudget: -1 }, 'expected tokenBudget to be a number of at least 0'],
  [{ instructions: 5 }, 'instructions: expected a text or a function'],
  [{ fallbackModel: { specificationVersion: 'v2' } }, 'fallbackModel: expected a model of specification v3 or v4'],
])('the wrong option %o is refused at start', (options, message) => {
  const model = scriptedModel(textReply('never'))
  expect(() => createAgentLoop({ model, ...options } as never)).toThrow(message)
})
