import { expect, it } from 'vitest'
import { z } from 'zod'
import { scriptedModel, textReply, toldTo, toolCalls } from '../../test/support/models/scripted-model.ts'
import { agent } from '../local-agent.node.ts'
import { inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import { pair } from '../testing/pair.ts'
import { type AgentLoopOptions, createAgentLoop } from './agent-loop.ts'
import { clientTool, localTool } from './tools/tool.ts'

const input = z.object({})
const open = (options: AgentLoopOptions) => pair(agent({ name: 'Looping' }, createAgentLoop(options)))

it('tells the model of a caller who does not answer in time, if that is the policy', async () => {
  const locate = clientTool({ name: 'locate', input, timeout: 50, onTimeout: 'continue' })
  const asked = scriptedModel(toolCalls(['locate', '{}']), textReply('Somewhere'))
  await using opened = await open({ model: asked, tools: [locate] })
  const { task } = await opened.client.send('Where am I?')
  expect(task?.status.state).toBe('input-required')
  await expect.poll(async () => (await opened.client.task(task?.id ?? '').get()).status.state).toBe('completed')
  expect(toldTo(asked)).toEqual([{ type: 'error-text', value: expect.stringContaining('was not answered by') }])
})

it.each([
  ['run a tool', [clientTool({ name: 'locate', input })]],
  ['approve a call', [localTool({ name: 'locate', input, needsApproval: true, run: () => 'never' })]],
])('fails the task otherwise, when nobody comes to %s', async (_, tools) => {
  await using opened = await open({ model: scriptedModel(toolCalls(['locate', '{}'])), tools, inputTimeout: 50 })
  const { task } = await opened.client.send('Where am I?')
  const handle = opened.client.task(task?.id ?? '')
  await expect.poll(async () => (await handle.get()).status.state).toBe('failed')
  expect((await handle.get()).status.message?.metadata).toEqual({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.05 })
})

it('gives a sensitive result to the model, and to nobody else', async () => {
  const secret = 'sesame-open-wide'
  const password = clientTool({ name: 'password', input, sensitive: true })
  const asked = scriptedModel(
    toolCalls(['password', '{}']),
    textReply('It is ', secret.slice(0, 8), secret.slice(8), ', thanks'),
  )
  await using opened = await open({ model: asked, tools: [password] })
  const talk = opened.client.conversation()
  await talk.send('Log in')
  const answer = { data: { toolUseId: 'call-0', result: secret }, mediaType: toolResult }
  const { task } = await talk.send(answer)
  expect(task?.status.state).toBe('completed')
  expect(toldTo(asked)).toEqual([{ type: 'text', value: secret }])
  const stored = JSON.stringify(await opened.client.task(task?.id ?? '').get({ historyLength: 100 }))
  expect(stored).not.toContain(secret)
  expect(stored).toContain('[redacted], thanks')
})

it('asks by an id of its own, also when the model calls by the same id again', async () => {
  const locate = clientTool({ name: 'locate', input })
  const asked = scriptedModel(toolCalls(['locate', '{}']), toolCalls(['locate', '{}']), textReply('Moved'))
  await using opened = await open({ model: asked, tools: [locate] })
  const talk = opened.client.conversation()
  const ids = [(await talk.send('go')).task, (await talk.send('Bern')).task].map(
    (task) => inputRequestIn(task?.status.message)?.requestId,
  )
  expect(ids).toEqual(['call-0', 'call-0-2'])
  const late = { data: { toolUseId: 'call-0', result: 'Bern' }, mediaType: toolResult }
  await expect(talk.send(late)).rejects.toMatchObject({ code: 'invalid-params' })
  expect((await talk.send({ ...late, data: { toolUseId: 'call-0-2', result: 'Thun' } })).task?.status.state).toBe(
    'completed',
  )
})
