import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { callOf, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { until } from '../../test/support/async.ts'
import { lastToolResults, scriptedModel, textReply, toolCalls } from '../../test/support/models/scripted-model.ts'
import { never, simulateProcesses, startTask } from '../../test/support/processes/simulated-processes.ts'
import { agent } from '../core/node/local-agent.node.ts'
import { inputRequestIn, toolResult } from '../core/protocol/extensions/client-tools.ts'
import { usageKey } from '../core/protocol/extensions/usage.ts'
import type { Task } from '../core/protocol/model.ts'
import type { Service } from '../core/protocol/service.ts'
import { connect } from '../entries/client.ts'
import { createAgentLoop } from './agent-loop.ts'
import { remoteAgent } from './tools/remote-agent.ts'
import { clientTool, localTool } from './tools/tool.ts'

const input = z.object({})
const textOfArtifacts = ({ artifacts }: Task) =>
  artifacts.map(({ parts }) => parts.map((part) => Object.values(part)[0]))
const waitForQuestion = (service: Service, taskId: string) =>
  until(async () => (await service.getTask({ taskId }, callOf())).status.state === 'input-required')

/** A model that sends this text and then hangs. */
function hangingModel(...deltas: string[]) {
  const reached = Promise.withResolvers<void>()
  const scripted = new MockLanguageModelV4({
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const delta of deltas) controller.enqueue({ type: 'text-delta', id: '1', delta })
          setTimeout(reached.resolve, 30)
        },
      }),
    }),
  })
  return { scripted, reached: reached.promise }
}

it('a resumed loop runs no tool again and repeats only the incomplete step', async () => {
  const { log, start, ended } = simulateProcesses()
  let runs = 0
  const count = localTool({ name: 'count', input, run: () => ({ runs: ++runs }) })
  const { scripted: second, reached } = hangingModel('It is ', 'half')
  const first = scriptedModel([{ type: 'text-delta', id: '1', delta: 'Let me see. ' }, ...toolCalls(['count', '{}'])])
  let modelCalls = 0
  const dying = new MockLanguageModelV4({
    doStream: (options) => (++modelCalls === 1 ? first.doStream(options) : second.doStream(options)),
  })
  const one = start(createAgentLoop({ model: dying, tools: [count] }))
  const id = await startTask(one)
  await reached
  await until(async () => JSON.stringify(await log.read(id, 0)).includes('half'))
  one.kill()
  const scripted = scriptedModel(textReply('It is ', 'one'))
  start(createAgentLoop({ model: scripted, tools: [count] }))
  const task = await ended(id)
  expect(task.status.state).toBe('completed')
  expect(textOfArtifacts(task).map((texts) => texts.join(''))).toEqual(['Let me see. It is one'])
  expect([runs, scripted.doStreamCalls.length]).toEqual([1, 1])
  expect(lastToolResults(scripted)).toEqual([{ type: 'json', value: { runs: 1 } }])
  expect(task.metadata?.[usageKey]).toMatchObject({ inputTokens: 20, outputTokens: 10 })
})

it('a resumed loop repeats no message about its tools, in whatever order they ended', async () => {
  const { log, start, ended } = simulateProcesses()
  const slow = localTool({ name: 'slow', input, run: () => new Promise((resolve) => setTimeout(resolve, 30, 'late')) })
  const fast = localTool({ name: 'fast', input, run: () => 'early' })
  const { scripted: second, reached } = hangingModel('half')
  const first = scriptedModel(toolCalls(['slow', '{}'], ['fast', '{}']))
  let modelCalls = 0
  const dying = new MockLanguageModelV4({
    doStream: (options) => (++modelCalls === 1 ? first.doStream(options) : second.doStream(options)),
  })
  const options = { tools: [slow, fast], toolMessages: true }
  const one = start(createAgentLoop({ ...options, model: dying }))
  const id = await startTask(one)
  await reached
  await until(async () => JSON.stringify(await log.read(id, 0)).includes('half'))
  one.kill()
  start(createAgentLoop({ ...options, model: scriptedModel(textReply('Done')) }))
  const task = await ended(id)
  expect(task.status.state).toBe('completed')
  const parts = task.history.flatMap((message) => message.parts).flatMap((part) => ('data' in part ? [part.data] : []))
  expect(parts).toMatchObject([{ name: 'slow' }, { name: 'fast' }, { result: 'late' }, { result: 'early' }])
})

it('a loop that waits for a client tool resumes after a restart when the result arrives', async () => {
  const { start, ended } = simulateProcesses()
  let runs = 0
  const count = localTool({ name: 'count', input, run: () => ++runs })
  const locate = clientTool({ name: 'locate', input })
  const tools = [count, locate]
  const one = start(createAgentLoop({ model: scriptedModel(toolCalls(['count', '{}'], ['locate', '{}'])), tools }))
  const id = await startTask(one)
  await waitForQuestion(one.service, id)
  one.kill()
  const scripted = scriptedModel(textReply('In Bern'))
  const two = start(createAgentLoop({ model: scripted, tools }))
  const part = { data: { toolUseId: 'call-1', result: 'Bern' }, mediaType: toolResult }
  void two.service.sendMessage({ message: messageOf('', { taskId: id, parts: [part] }) }, callOf())
  const task = await ended(id)
  expect([task.status.state, runs]).toEqual(['completed', 1])
  expect(lastToolResults(scripted)).toEqual([
    { type: 'json', value: 1 },
    { type: 'text', value: 'Bern' },
  ])
})

it('a resumed loop does not run a tool with redacted arguments, and the model receives an error', async () => {
  const { log, start, ended } = simulateProcesses()
  const secret = 'sesame-open-wide'
  const seen: string[] = []
  const reached = Promise.withResolvers<void>()
  const password = clientTool({ name: 'password', input, sensitive: true })
  const loginWith = (wait: () => Promise<unknown>) =>
    localTool({
      name: 'login',
      input: z.object({ key: z.string() }),
      async run({ key }) {
        seen.push(key)
        await wait()
        return 'in'
      },
    })
  const dying = loginWith(() => {
    reached.resolve()
    return never()
  })
  const scripted = scriptedModel(toolCalls(['password', '{}']), toolCalls(['login', `{"key":"${secret}"}`]))
  const one = start(createAgentLoop({ model: scripted, tools: [password, dying] }))
  const id = await startTask(one)
  await waitForQuestion(one.service, id)
  const { status } = await one.service.getTask({ taskId: id }, callOf())
  expect(inputRequestIn(status.message)).toMatchObject({ sensitive: true, tool: 'password' })
  void send(one.service, secret, { taskId: id, returnImmediately: true })
  await reached.promise
  expect([seen, lastToolResults(scripted)]).toEqual([[secret], [{ type: 'text', value: secret }]])
  one.kill()
  const other = scriptedModel(textReply('Sorry'))
  start(createAgentLoop({ model: other, tools: [password, loginWith(async () => 1)] }))
  const task = await ended(id)
  expect([task.status.state, seen]).toEqual(['completed', [secret]])
  expect(JSON.stringify(lastToolResults(other))).toContain('are never stored: ask for them again')
  expect(JSON.stringify(await log.read(id, 0))).not.toContain(secret)
})

it('a tool without usesTurn cannot ask the caller', async () => {
  const { start, ended } = simulateProcesses()
  const asks = localTool({ name: 'asks', input, run: async (_, { turn }) => (await turn?.ask('Sure?'))?.text })
  const may = { ...asks, name: 'may', usesTurn: true }
  const scripted = scriptedModel(toolCalls(['asks', '{}'], ['may', '{}']), textReply('Well'))
  const { service } = start(createAgentLoop({ model: scripted, tools: [asks, may] }))
  const { id } = taskOf(await send(service, 'go'))
  void send(service, 'yes', { taskId: id })
  await ended(id)
  expect(lastToolResults(scripted)).toEqual([
    { type: 'error-text', value: expect.stringContaining('give "asks" the option usesTurn: true') },
    { type: 'text', value: 'yes' },
  ])
})

it('a remote agent that asks is resumed in the same and in another process', async () => {
  const { start, ended } = simulateProcesses()
  const writer = agent(
    { name: 'Writer' },
    async (turn) => `${(await turn.ask('Style?')).text}, ${(await turn.ask('Length?')).text}`,
  )
  const tools = [remoteAgent(await connect(writer), { timeout: 60_000 })]
  const first = start(
    createAgentLoop({ model: scriptedModel(toolCalls(['Writer', '{"text":"rain"}']), textReply('Here')), tools }),
  )
  const { id } = taskOf(await send(first.service, 'go'))
  expect(taskOf(await send(first.service, 'plain', { taskId: id })).status.state).toBe('input-required')
  first.kill()
  const scripted = scriptedModel(textReply('Here'))
  const second = start(createAgentLoop({ model: scripted, tools }))
  void send(second.service, 'short', { taskId: id })
  expect((await ended(id)).status.state).toBe('completed')
  expect(lastToolResults(scripted)).toEqual([{ type: 'text', value: 'plain, short' }])
})

it('concurrent questions of one step are asked once each and answered across restarts', async () => {
  const { start, ended } = simulateProcesses()
  const ran: string[] = []
  const tools = [
    clientTool({ name: 'locate', input }),
    clientTool({ name: 'look', input, needsApproval: true }),
    localTool({ name: 'wipe', input, needsApproval: true, run: () => ran.push('wipe') }),
    localTool({ name: 'talk', input, usesTurn: true, run: async (_, { turn }) => (await turn?.ask('Name?'))?.text }),
    localTool({ name: 'chat', input, usesTurn: true, run: async (_, { turn }) => (await turn?.ask('Age?'))?.text }),
  ]
  const scripted = scriptedModel(toolCalls(...tools.map(({ name }): [string, string] => [name, '{}'])))
  const first = start(createAgentLoop({ model: scripted, tools }))
  const id = await startTask(first)
  const other = scriptedModel(textReply('Done'))
  let { service, kill } = first
  const seen: string[] = []
  for (let round = 0; round < 6; round++) {
    let requestId = ''
    await until(async () => {
      const { status } = await service.getTask({ taskId: id }, callOf())
      const request = inputRequestIn(status.message)
      requestId = `${request?.requestId ?? ''}`
      if (status.state === 'input-required' && requestId !== '' && !seen.includes(requestId)) return true
      if (status.state === 'failed') throw new Error(JSON.stringify(status))
      return false
    })
    seen.push(requestId)
    kill()
    const next = start(createAgentLoop({ model: other, tools }))
    service = next.service
    kill = next.kill
    const part = { data: { toolUseId: requestId, result: `yes to ${requestId}` }, mediaType: toolResult }
    const message = messageOf('', { taskId: id, parts: [part] })
    await service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
  }
  expect((await ended(id)).status.state).toBe('completed')
  const [locate, look, wipe, ...talks] = lastToolResults(other) as { value: unknown }[]
  expect([locate?.value, look?.value, wipe?.value]).toEqual(['yes to call-0', 'yes to call-1', 1])
  expect(new Set(talks.map(({ value }) => value)).size).toBe(2)
  expect([ran, new Set(seen).size]).toEqual([['wipe'], 6])
})

it.each([
  ['continue', 'completed'],
  ['fail', 'failed'],
] as const)('a client tool times out across restarts with the policy %s', async (onTimeout, state) => {
  const { start, ended } = simulateProcesses()
  const tools = [clientTool({ name: 'locate', input, timeout: 150, onTimeout })]
  const one = start(createAgentLoop({ model: scriptedModel(toolCalls(['locate', '{}'])), tools }))
  const id = await startTask(one)
  await waitForQuestion(one.service, id)
  one.kill()
  const scripted = scriptedModel(textReply('Somewhere'))
  start(createAgentLoop({ model: scripted, tools }))
  const task = await ended(id)
  expect(task.status.state).toBe(state)
  if (state === 'failed') {
    expect(task.status.message?.metadata).toEqual({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.15 })
  } else
    expect(lastToolResults(scripted)).toEqual([
      { type: 'error-text', value: expect.stringContaining('was not answered by') },
    ])
})
