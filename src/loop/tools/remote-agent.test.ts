import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toldTo, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { skill } from '../../agent/skill.ts'
import { connect } from '../../entries/client.ts'
import { agent } from '../../local-agent.node.ts'
import type { LocalAgent } from '../../local-agent.ts'
import { inputRequestIn, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { remoteAgent } from './remote-agent.ts'
import { clientTool } from './tool.ts'

const offered = (asked: ReturnType<typeof scriptedModel>) => asked.doStreamCalls[0]?.tools ?? []

it('is described by the card, and gives the model what the agent answers', async () => {
  const writer = agent({ name: 'The Writer', description: 'Writes well.' }, async (turn) => {
    await turn.artifact('text').close(`About ${turn.text}`)
    return 'Enjoy'
  })
  const asked = scriptedModel(toolCalls(['The_Writer', '{"text":"rain"}']), textReply('Here it is'))
  const planner = agent({ name: 'Planner' }, createAgentLoop({ model: asked, tools: [remoteAgent(writer)] }))
  const { text } = await (await connect(planner)).send('Write about rain')
  expect(text).toContain('Here it is')
  expect(offered(asked)).toMatchObject([
    { name: 'The_Writer', description: expect.stringContaining('Asks the agent "The Writer". Writes well.') },
  ])
  expect(toldTo(asked)).toEqual([{ type: 'text', value: 'About rain\nEnjoy' }])
})

it('is one tool for each skill if it is to be, with what the skill takes', async () => {
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
  const asked = scriptedModel(
    toolCalls(['t_add', '{"a":1,"b":2}'], ['t_shout', '{"text":"hi"}'], ['t_add', '{"a":"x"}']),
    textReply('Done'),
  )
  const loop = createAgentLoop({ model: asked, tools: [remoteAgent(tools, { skills: true, name: 't' })] })
  await (await connect(agent({ name: 'Planner' }, loop))).send('go')
  expect(offered(asked)).toMatchObject([
    { name: 't_add', description: 'Add: Adds numbers', inputSchema: { properties: { a: { type: 'number' } } } },
    { name: 't_shout' },
  ])
  expect(toldTo(asked)).toMatchObject([
    { type: 'text', value: '3' },
    { type: 'text', value: 'HI' },
    { type: 'error-text', value: expect.stringContaining('a: ') },
  ])
})

it('tells the model in words what went wrong, also that it goes in a circle', async () => {
  const broken = agent({ name: 'Broken' }, async (turn) => turn.fail('The cellar is flooded'))
  const asked = scriptedModel(toolCalls(['Broken', '{"text":"go"}'], ['Planner', '{"text":"go"}']), textReply('Sorry'))
  const self: { fetch: LocalAgent['fetch'] } = { fetch: (request) => planner.fetch(request) }
  const loop = createAgentLoop({ model: asked, tools: [remoteAgent(broken), remoteAgent(self)] })
  const planner = agent({ name: 'Planner' }, loop)
  await (await connect(planner)).send('go')
  expect(toldTo(asked)).toMatchObject([
    { type: 'error-text', value: expect.stringContaining('"Broken" ended as failed: The cellar is flooded') },
    { type: 'error-text', value: expect.stringContaining('This would be a loop: Planner → Planner.') },
  ])
})

it('asks the caller what the agent asks, and takes the answer to it', async () => {
  const shop = agent({ name: 'Shop' }, async (turn) => `Bought in ${(await turn.ask('Which colour?')).text}`)
  const asked = scriptedModel(toolCalls(['Shop', '{"text":"a chair"}']), textReply('Bought'))
  const loop = createAgentLoop({ model: asked, tools: [remoteAgent(shop)] })
  const talk = (await connect(agent({ name: 'Planner' }, loop))).conversation()
  const question = await talk.send('Buy a chair')
  expect([question.task?.status.state, question.text]).toEqual(['input-required', 'Which colour?'])
  expect(inputRequestIn(question.task?.status.message)?.prompt).toBe('Which colour?')
  const done = await talk.send('red')
  expect(done.task?.status.state).toBe('completed')
  expect(toldTo(asked)).toEqual([{ type: 'text', value: 'Bought in red' }])
})

it('works without an agent behind the loop', async () => {
  const echo = agent({ name: 'Echo' }, async (turn) => `You said: ${turn.text}`)
  const asked = scriptedModel(toolCalls(['Echo', '{"text":"hi"}']), textReply('Done'))
  const loop = createAgentLoop({ model: asked, tools: [remoteAgent(await connect(echo))] })
  const { status } = await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c' })
  expect(status.state).toBe('completed')
  expect(toldTo(asked)).toEqual([{ type: 'text', value: 'You said: hi' }])
})

it('has the caller run the tools that the agent wants its own caller to run', async () => {
  const inner = scriptedModel(toolCalls(['location', '{"precise":true}']), textReply('It is sunny'))
  const location = clientTool({ name: 'location', input: z.object({ precise: z.boolean() }) })
  const weather = agent({ name: 'Weather' }, createAgentLoop({ model: inner, tools: [location] }))
  const asked = scriptedModel(toolCalls(['Weather', '{"text":"here?"}']), textReply('Sunny'))
  const planner = agent({ name: 'Planner' }, createAgentLoop({ model: asked, tools: [remoteAgent(weather)] }))
  const talk = (await connect(planner)).conversation()
  const { task } = await talk.send('How is the weather here?')
  const use = task?.status.message?.parts.find((part) => part.mediaType === toolUse)
  expect(use).toMatchObject({ data: { name: 'location', arguments: { precise: true } } })
  const toolUseId = use && 'data' in use ? (use.data as { toolUseId: string }).toolUseId : ''
  const done = await talk.send({ data: { toolUseId, result: 'Graz' }, mediaType: toolResult })
  expect(done.task?.status.state).toBe('completed')
  expect(toldTo(inner)).toEqual([{ type: 'text', value: 'Graz' }])
})
