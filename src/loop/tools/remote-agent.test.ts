import { expect, it } from 'vitest'
import { z } from 'zod'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { skill } from '../../core/agent/skill.ts'
import { agent } from '../../core/node/local-agent.node.ts'
import { clientTools, inputRequestIn, toolResult, toolUse } from '../../core/protocol/extensions/client-tools.ts'
import type { LocalAgent } from '../../core/server/local-agent.ts'
import { connect } from '../../entries/client.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { remoteAgent } from './remote-agent.ts'
import { clientTool } from './tool.ts'

const offered = (scripted: ReturnType<typeof scriptedModel>) => scripted.doStreamCalls[0]?.tools ?? []

it('the card describes the tool, and the model receives the reply of the agent', async () => {
  const writer = agent({ name: 'The Writer', description: 'Writes well.' }, async (turn) => {
    await turn.artifact('text').close(`About ${turn.text}`)
    return 'Enjoy'
  })
  const scripted = scriptedModel(toolCalls(['The_Writer', '{"text":"rain"}']), textReply('Here it is'))
  const planner = agent({ name: 'Planner' }, createAgentLoop({ model: scripted, tools: [remoteAgent(writer)] }))
  const { text } = await (await connect(planner)).send('Write about rain')
  expect(text).toContain('Here it is')
  expect(offered(scripted)).toMatchObject([
    {
      name: 'The_Writer',
      description: expect.stringMatching(/^Calls the agent "The Writer"\..*untrusted.*\n> Writes well\./),
    },
  ])
  expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: 'About rain\nEnjoy' }])
})

it('with skills: true there is one tool per skill, with its input schema', async () => {
  const add = skill({
    id: 'add',
    name: 'Add',
    description: 'Adds numbers',
    input: z.object({ a: z.number(), b: z.number() }),
    output: z.number(),
    run: ({ a, b }) => a + b,
  })
  const shout = skill({ id: 'shout', name: 'Shout', run: (text) => `${text}`.toUpperCase() })
  const tools = agent({ name: 'Tools', skills: [add, shout] })
  const scripted = scriptedModel(
    toolCalls(['t_add', '{"a":1,"b":2}'], ['t_shout', '{"text":"hi"}'], ['t_add', '{"a":"x"}']),
    textReply('Done'),
  )
  const loop = createAgentLoop({ model: scripted, tools: [remoteAgent(tools, { skills: true, name: 't' })] })
  await (await connect(agent({ name: 'Planner' }, loop))).send('go')
  expect(offered(scripted)).toMatchObject([
    {
      name: 't_add',
      description: expect.stringContaining('\n> Adds numbers'),
      inputSchema: { properties: { a: { type: 'number' } } },
    },
    { name: 't_shout' },
  ])
  expect(lastToolResults(scripted)).toMatchObject([
    { type: 'text', value: '3' },
    { type: 'text', value: 'HI' },
    { type: 'error-text', value: expect.stringContaining('a: ') },
  ])
})

it('the model receives the errors of the agent, and an error for a cycle', async () => {
  const broken = agent({ name: 'Broken' }, async (turn) => turn.fail('The cellar is flooded'))
  const scripted = scriptedModel(
    toolCalls(['Broken', '{"text":"go"}'], ['Planner', '{"text":"go"}']),
    textReply('Sorry'),
  )
  const self: { fetch: LocalAgent['fetch'] } = { fetch: (request) => planner.fetch(request) }
  const loop = createAgentLoop({ model: scripted, tools: [remoteAgent(broken), remoteAgent(self)] })
  const planner = agent({ name: 'Planner' }, loop)
  await (await connect(planner)).send('go')
  expect(lastToolResults(scripted)).toMatchObject([
    { type: 'error-text', value: expect.stringContaining('"Broken" ended as failed: The cellar is flooded') },
    { type: 'error-text', value: expect.stringContaining('This would be a loop: Planner → Planner.') },
  ])
})

it('a question of the agent reaches the caller, and the answer reaches the agent', async () => {
  const shop = agent({ name: 'Shop' }, async (turn) => `Bought in ${(await turn.ask('Which colour?')).text}`)
  const scripted = scriptedModel(toolCalls(['Shop', '{"text":"a chair"}']), textReply('Bought'))
  const loop = createAgentLoop({ model: scripted, tools: [remoteAgent(shop)] })
  const conversation = (await connect(agent({ name: 'Planner' }, loop))).conversation()
  const question = await conversation.send('Buy a chair')
  expect([question.task?.status.state, question.text]).toEqual(['input-required', 'Which colour?'])
  expect(inputRequestIn(question.task?.status.message)?.prompt).toBe('Which colour?')
  const done = await conversation.send('red')
  expect(done.task?.status.state).toBe('completed')
  expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: 'Bought in red' }])
})

it('a loop without an agent can call a remote agent', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => `You said: ${turn.text}`)
  const scripted = scriptedModel(toolCalls(['Echo', '{"text":"hi"}']), textReply('Done'))
  const loop = createAgentLoop({ model: scripted, tools: [remoteAgent(await connect(echo))] })
  const { status } = await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c' })
  expect(status.state).toBe('completed')
  expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: 'You said: hi' }])
})

it.each([
  ['with the extension', [clientTools]],
  ['without the extension', []],
])('a caller %s runs the client tools of a remote agent', async (_, extensions) => {
  const inner = scriptedModel(toolCalls(['location', '{"precise":true}']), textReply('It is sunny'))
  const location = clientTool({ name: 'location', input: z.object({ precise: z.boolean() }) })
  const weather = agent({ name: 'Weather' }, createAgentLoop({ model: inner, tools: [location] }))
  const scripted = scriptedModel(toolCalls(['Weather', '{"text":"here?"}']), textReply('Sunny'))
  const planner = agent({ name: 'Planner' }, createAgentLoop({ model: scripted, tools: [remoteAgent(weather)] }))
  const conversation = (await connect(planner, { extensions })).conversation()
  const { task } = await conversation.send('How is the weather here?')
  const message = task?.status.message
  const { requestId, tool, arguments: input } = inputRequestIn(message) ?? {}
  const toolUseId = `${requestId}`
  const use = { data: { toolUseId, name: 'location', arguments: { precise: true } }, mediaType: toolUse }
  const text = { text: 'Please run the tool "location" with {"precise":true} and send its result.' }
  expect(message?.parts).toEqual(extensions.length > 0 ? [text, use] : [text])
  expect({ tool, input }).toEqual({ tool: 'location', input: extensions.length > 0 ? undefined : { precise: true } })
  const done = await conversation.send({ data: { toolUseId, result: 'Graz' }, mediaType: toolResult })
  expect(done.task?.status.state).toBe('completed')
  expect(lastToolResults(inner)).toEqual([{ type: 'text', value: 'Graz' }])
})
