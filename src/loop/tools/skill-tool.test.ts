import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toldTo, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { skill } from '../../agent/skill.ts'
import { connect } from '../../entries/client.ts'
import { agent } from '../../local-agent.node.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { skillTool } from './skill-tool.ts'
import { localTool } from './tool.ts'
import { partsResult } from './tool-result.ts'
import type { ToolSource } from './toolbox.ts'

const forecast = skill({
  id: 'forecast',
  name: 'Forecast',
  input: z.object({ city: z.string() }),
  output: z.object({ degrees: z.number() }),
  async *run({ city }) {
    yield { text: `Looking at ${city}` }
    return { degrees: 21 }
  },
})
const greet = skill({ id: 'greet', name: 'Greet', run: (text, turn) => `Hello ${text}, ${turn.principal.id}` })

it('lets the model choose the skill for a message that names none', async () => {
  const asked = scriptedModel(
    toolCalls(['forecast', '{"city":"Graz"}'], ['greet', '{"text":"you"}']),
    textReply('21 degrees'),
  )
  const loop = createAgentLoop({ model: asked, tools: [skillTool(forecast), skillTool(greet)] })
  const client = await connect(agent({ name: 'Weather', skills: [forecast, greet] }, loop))

  const reply = await client.send('How warm is it in Graz?')
  expect(reply.text).toContain('21 degrees')
  expect(reply.artifacts.map(({ text }) => text)).toContain('Looking at Graz')
  expect(toldTo(asked)).toEqual([
    { type: 'json', value: { degrees: 21 } },
    { type: 'text', value: 'Hello you, anonymous' },
  ])
  expect(await client.skill('forecast', { city: 'Graz' })).toEqual({ degrees: 21 })
  expect(asked.doStreamCalls).toHaveLength(2)
})

it('tells the model what is wrong with what it gives to a skill, or gets of one', async () => {
  const broken = skill({ id: 'broken', name: 'B', output: z.number(), run: () => 'x' as unknown as number })
  const asked = scriptedModel(
    toolCalls(['forecast', '{}'], ['greet', '{}'], ['broken', '{"text":""}']),
    textReply('Sorry'),
  )
  const loop = createAgentLoop({ model: asked, tools: [forecast, greet, broken].map(skillTool) })
  const client = await connect(agent({ name: 'Weather' }, loop))
  await client.send('go')
  expect(toldTo(asked)).toMatchObject([
    { type: 'error-text', value: expect.stringContaining('The arguments of "forecast" do not fit: city: ') },
    { type: 'error-text', value: expect.stringContaining('text: expected a text') },
    { type: 'error-text', value: expect.stringContaining('does not fit its own schema') },
  ])
})

it('refuses skills that a model must not, or cannot, call', () => {
  const secret = skill({ id: 'secret', name: 'Secret', security: [{ key: [] }], run: () => 'x' })
  expect(() => skillTool(secret)).toThrow('security of its own')
  const word = skill({ id: 'word', name: 'Word', input: z.string(), run: () => 'x' })
  expect(() => skillTool(word)).toThrow('can only give it an object')
})

it('shows the model the files that a tool gives, and what it says of its failure', async () => {
  const input = z.object({})
  const draw = localTool({
    name: 'draw',
    input,
    run: () => partsResult([{ text: 'Here' }, { raw: 'AAAA', mediaType: 'image/png' }, { url: 'https://a.example/b' }]),
  })
  const fail = localTool({ name: 'fail', input, run: () => partsResult([{ text: 'No ink' }], { isError: true }) })
  const asked = scriptedModel(toolCalls(['draw', '{}'], ['fail', '{}']), textReply('Done'))
  await createAgentLoop({ model: asked, tools: [draw, fail] }).invokeSync([{ text: 'go' }], {
    taskId: 't',
    contextId: 'c',
  })
  expect(toldTo(asked)).toEqual([
    {
      type: 'content',
      value: [
        { type: 'text', text: 'Here' },
        { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AAAA' } },
        {
          type: 'file',
          mediaType: 'application/octet-stream',
          data: { type: 'url', url: new URL('https://a.example/b') },
        },
      ],
    },
    { type: 'error-text', value: 'No ink' },
  ])
})

it('sees the tools of a source as they are at each step, and takes the first of two with one name', async () => {
  const tool = (name: string) => localTool({ name, input: z.object({}), run: () => 'Done' })
  const steps = [[tool('one'), tool('own')], [tool('two')]]
  const source: ToolSource = { type: 'source', tools: async () => steps.shift() ?? [] }
  const asked = scriptedModel(toolCalls(['one', '{}']), textReply('Done'))
  const problems: string[] = []
  const onError = (error: unknown) => problems.push(`${error}`)
  const loop = createAgentLoop({ model: asked, tools: [tool('own'), source], onError })
  await loop.invokeSync([{ text: 'go' }], { taskId: 't', contextId: 'c' })
  const offered = asked.doStreamCalls.map(({ tools = [] }) => tools.map(({ name }) => name))
  expect(offered).toEqual([
    ['own', 'one'],
    ['own', 'two'],
  ])
  expect(problems).toEqual([expect.stringContaining('Two tools are called own')])
})
