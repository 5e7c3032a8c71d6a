import { expect, it } from 'vitest'
import { z } from 'zod'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../../test/support/models/scripted-model.ts'
import { skill } from '../../core/agent/skill.ts'
import { agent } from '../../core/node/local-agent.node.ts'
import { connect } from '../../entries/client.ts'
import { createAgentLoop } from '../agent-loop.ts'
import { skillTool } from './skill-tool.ts'

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

it('the model chooses the skill for a message that names none', async () => {
  const scripted = scriptedModel(
    toolCalls(['forecast', '{"city":"Graz"}'], ['greet', '{"text":"you"}']),
    textReply('21 degrees'),
  )
  const loop = createAgentLoop({ model: scripted, tools: [skillTool(forecast), skillTool(greet)] })
  const client = await connect(agent({ name: 'Weather', skills: [forecast, greet] }, loop))

  const reply = await client.send('How warm is it in Graz?')
  expect(reply.text).toContain('21 degrees')
  expect(reply.artifacts.map(({ text }) => text)).toContain('Looking at Graz')
  expect(lastToolResults(scripted)).toEqual([
    { type: 'json', value: { degrees: 21 } },
    { type: 'text', value: 'Hello you, anonymous' },
  ])
  expect(await client.skill('forecast', { city: 'Graz' })).toEqual({ degrees: 21 })
  expect(scripted.doStreamCalls).toHaveLength(2)
})

it('the model receives errors for invalid input and output of a skill', async () => {
  const broken = skill({ id: 'broken', name: 'B', output: z.number(), run: () => 'x' as unknown as number })
  const scripted = scriptedModel(
    toolCalls(['forecast', '{}'], ['greet', '{}'], ['broken', '{"text":""}']),
    textReply('Sorry'),
  )
  const loop = createAgentLoop({ model: scripted, tools: [forecast, greet, broken].map(skillTool) })
  const client = await connect(agent({ name: 'Weather' }, loop))
  await client.send('go')
  expect(lastToolResults(scripted)).toMatchObject([
    { type: 'error-text', value: expect.stringContaining('The arguments of "forecast" do not fit: city: ') },
    { type: 'error-text', value: expect.stringContaining('text: expected a string') },
    { type: 'error-text', value: expect.stringContaining('does not fit its own schema') },
  ])
})

it('skills that a model must not or cannot call are refused', () => {
  const secret = skill({ id: 'secret', name: 'Secret', security: [{ key: [] }], run: () => 'x' })
  expect(() => skillTool(secret)).toThrow('security of its own')
  const word = skill({ id: 'word', name: 'Word', input: z.string(), run: () => 'x' })
  expect(() => skillTool(word)).toThrow('can only give it an object')
})
