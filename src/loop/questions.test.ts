import { expect, it } from 'vitest'
import { z } from 'zod'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../test/support/models/scripted-model.ts'
import { agent } from '../core/node/local-agent.node.ts'
import { inputRequestIn, toolResult } from '../core/protocol/extensions/client-tools.ts'
import { createPair } from '../testing/pair.ts'
import { type AgentLoopOptions, createAgentLoop } from './agent-loop.ts'
import { clientTool, localTool } from './tools/tool.ts'

const input = z.object({})
const connectTo = (options: AgentLoopOptions) => createPair(agent({ name: 'Looping' }, createAgentLoop(options)))

it('with the policy continue, the model learns that the caller did not answer in time', async () => {
  const locate = clientTool({ name: 'locate', input, timeout: 50, onTimeout: 'continue' })
  const scripted = scriptedModel(toolCalls(['locate', '{}']), textReply('Somewhere'))
  await using connection = await connectTo({ model: scripted, tools: [locate] })
  const { task } = await connection.client.send('Where am I?')
  expect(task?.status.state).toBe('input-required')
  await expect.poll(async () => (await connection.client.task(task?.id ?? '').get()).status.state).toBe('completed')
  expect(lastToolResults(scripted)).toEqual([
    { type: 'error-text', value: expect.stringContaining('was not answered by') },
  ])
})

it.each([
  ['run a tool', [clientTool({ name: 'locate', input })]],
  ['approve a call', [localTool({ name: 'locate', input, needsApproval: true, run: () => 'never' })]],
])('with the default policy, the task fails if the caller does not %s in time', async (_, tools) => {
  await using connection = await connectTo({
    model: scriptedModel(toolCalls(['locate', '{}'])),
    tools,
    inputTimeout: 50,
  })
  const { task } = await connection.client.send('Where am I?')
  const handle = connection.client.task(task?.id ?? '')
  await expect.poll(async () => (await handle.get()).status.state).toBe('failed')
  expect((await handle.get()).status.message?.metadata).toEqual({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.05 })
})

it('only the model receives a sensitive result', async () => {
  const secret = 'sesame-open-wide'
  const password = clientTool({ name: 'password', input, sensitive: true })
  const scripted = scriptedModel(
    toolCalls(['password', '{}']),
    textReply('It is ', secret.slice(0, 8), secret.slice(8), ', thanks'),
  )
  await using connection = await connectTo({ model: scripted, tools: [password] })
  const conversation = connection.client.conversation()
  await conversation.send('Log in')
  const answer = { data: { toolUseId: 'call-0', result: secret }, mediaType: toolResult }
  const { task } = await conversation.send(answer)
  expect(task?.status.state).toBe('completed')
  expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: secret }])
  const stored = JSON.stringify(await connection.client.task(task?.id ?? '').get({ historyLength: 100 }))
  expect(stored).not.toContain(secret)
  expect(stored).toContain('[redacted], thanks')
})

it.each([
  [{ result: { city: 'Bern' } }, { type: 'text', value: '{"city":"Bern"}' }],
  [{ result: '{"city":"Bern"}' }, { type: 'text', value: '{"city":"Bern"}' }],
  [
    { result: 'lost', isError: true },
    { type: 'error-text', value: 'lost' },
  ],
  [
    { result: { town: 'Bern' } },
    { type: 'error-text', value: expect.stringMatching(/^The caller's result does not fit: /) },
  ],
])('a result is checked by the schema of the tool: %j', async (data, expected) => {
  const locate = clientTool({ name: 'locate', input, output: z.object({ city: z.string() }) })
  const scripted = scriptedModel(toolCalls(['locate', '{}']), textReply('Found'))
  await using connection = await connectTo({ model: scripted, tools: [locate] })
  const conversation = connection.client.conversation()
  const { task } = await conversation.send('go')
  expect(inputRequestIn(task?.status.message)?.resultSchema).toMatchObject({ required: ['city'] })
  await conversation.send({ data: { toolUseId: 'call-0', ...data }, mediaType: toolResult })
  expect(lastToolResults(scripted)).toEqual([expected])
})

it('each request has its own id, even if the model reuses a call id', async () => {
  const locate = clientTool({ name: 'locate', input })
  const scripted = scriptedModel(toolCalls(['locate', '{}']), toolCalls(['locate', '{}']), textReply('Moved'))
  await using connection = await connectTo({ model: scripted, tools: [locate] })
  const conversation = connection.client.conversation()
  const ids = [(await conversation.send('go')).task, (await conversation.send('Bern')).task].map(
    (task) => inputRequestIn(task?.status.message)?.requestId,
  )
  expect(ids).toEqual(['call-0', 'call-0-2'])
  const late = { data: { toolUseId: 'call-0', result: 'Bern' }, mediaType: toolResult }
  await expect(conversation.send(late)).rejects.toMatchObject({ code: 'invalid-params' })
  expect(
    (await conversation.send({ ...late, data: { toolUseId: 'call-0-2', result: 'Thun' } })).task?.status.state,
  ).toBe('completed')
})

it.each([
  ['yes', 'completed', 'ran'],
  [{ value: 'yes' }, 'completed', 'ran'],
  [{ value: 'no' }, 'completed', undefined],
])('an approval may be the tool result %j', async (result, state, expected) => {
  let ran: string | undefined
  const run = () => {
    ran = 'ran'
    return 'done'
  }
  const tool = localTool({ name: 'locate', input, needsApproval: true, run })
  const model = scriptedModel(toolCalls(['locate', '{}']), textReply('Done'))
  await using connection = await connectTo({ model, tools: [tool] })
  const conversation = connection.client.conversation()
  const { task } = await conversation.send('go')
  const toolUseId = `${inputRequestIn(task?.status.message)?.requestId}`
  const answered = await conversation.send({ data: { toolUseId, result }, mediaType: toolResult })
  expect(answered.task?.status.state).toBe(state)
  expect(ran).toBe(expected)
})
