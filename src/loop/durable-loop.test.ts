import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { MockLanguageModelV4 } from 'ai/test'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { callOf, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { until } from '../../test/support/async.ts'
import { scriptedModel, textReply, toldTo, toolCalls } from '../../test/support/models/scripted-model.ts'
import { never, simulateProcesses, startTask } from '../../test/support/processes/simulated-processes.ts'
import { connect } from '../entries/client.ts'
import { agent } from '../local-agent.node.ts'
import { inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import type { Task } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import { createAgentLoop } from './agent-loop.ts'
import { remoteAgent } from './tools/remote-agent.ts'
import { clientTool, localTool } from './tools/tool.ts'

const input = z.object({})
const textOfArtifacts = ({ artifacts }: Task) =>
  artifacts.map(({ parts }) => parts.map((part) => Object.values(part)[0]))
const isAsking = (service: Service, taskId: string) =>
  until(async () => (await service.getTask({ taskId }, callOf())).status.state === 'input-required')

/** Says this much, and then nothing any more. */
function stuck(...deltas: string[]) {
  const reached = Promise.withResolvers<void>()
  const asked = new MockLanguageModelV4({
    doStream: async () => ({
      stream: new ReadableStream<LanguageModelV4StreamPart>({
        start(controller) {
          for (const delta of deltas) controller.enqueue({ type: 'text-delta', id: '1', delta })
          setTimeout(reached.resolve, 30)
        },
      }),
    }),
  })
  return { asked, reached: reached.promise }
}

it('goes on in another process where it was: tools are not run again, and what was half said is said anew', async () => {
  const { log, start, ended } = simulateProcesses()
  let ran = 0
  const count = localTool({ name: 'count', input, run: () => ({ ran: ++ran }) })
  const { asked: second, reached } = stuck('It is ', 'half')
  const first = scriptedModel([{ type: 'text-delta', id: '1', delta: 'Let me see. ' }, ...toolCalls(['count', '{}'])])
  let asks = 0
  const dying = new MockLanguageModelV4({
    doStream: (options) => (++asks === 1 ? first.doStream(options) : second.doStream(options)),
  })
  const one = start(createAgentLoop({ model: dying, tools: [count] }))
  const id = await startTask(one)
  await reached
  await until(async () => JSON.stringify(await log.read(id, 0)).includes('half'))
  one.kill()
  const asked = scriptedModel(textReply('It is ', 'one'))
  start(createAgentLoop({ model: asked, tools: [count] }))
  const task = await ended(id)
  expect(task.status.state).toBe('completed')
  expect(textOfArtifacts(task).map((texts) => texts.join(''))).toEqual(['Let me see. It is one'])
  expect([ran, asked.doStreamCalls.length]).toEqual([1, 1])
  expect(toldTo(asked)).toEqual([{ type: 'json', value: { ran: 1 } }])
})

it('waits for the result of a tool of the caller across restarts, while no process does', async () => {
  const { start, ended } = simulateProcesses()
  let ran = 0
  const count = localTool({ name: 'count', input, run: () => ++ran })
  const locate = clientTool({ name: 'locate', input })
  const tools = [count, locate]
  const one = start(createAgentLoop({ model: scriptedModel(toolCalls(['count', '{}'], ['locate', '{}'])), tools }))
  const id = await startTask(one)
  await isAsking(one.service, id)
  one.kill()
  const asked = scriptedModel(textReply('In Bern'))
  const two = start(createAgentLoop({ model: asked, tools }))
  const part = { data: { toolUseId: 'call-1', result: 'Bern' }, mediaType: toolResult }
  void two.service.sendMessage({ message: messageOf('', { taskId: id, parts: [part] }) }, callOf())
  const task = await ended(id)
  expect([task.status.state, ran]).toEqual(['completed', 1])
  expect(toldTo(asked)).toEqual([
    { type: 'json', value: 1 },
    { type: 'text', value: 'Bern' },
  ])
})

it('does not run a tool with arguments that were secret and are gone, and tells the model', async () => {
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
  const asked = scriptedModel(toolCalls(['password', '{}']), toolCalls(['login', `{"key":"${secret}"}`]))
  const one = start(createAgentLoop({ model: asked, tools: [password, dying] }))
  const id = await startTask(one)
  await isAsking(one.service, id)
  const { status } = await one.service.getTask({ taskId: id }, callOf())
  expect(inputRequestIn(status.message)).toMatchObject({ sensitive: true, tool: 'password' })
  void send(one.service, secret, { taskId: id, returnImmediately: true })
  await reached.promise
  expect([seen, toldTo(asked)]).toEqual([[secret], [{ type: 'text', value: secret }]])
  one.kill()
  const other = scriptedModel(textReply('Sorry'))
  start(createAgentLoop({ model: other, tools: [password, loginWith(async () => 1)] }))
  const task = await ended(id)
  expect([task.status.state, seen]).toEqual(['completed', [secret]])
  expect(JSON.stringify(toldTo(other))).toContain('are never stored: ask for them again')
  expect(JSON.stringify(await log.read(id, 0))).not.toContain(secret)
})

it('refuses to a tool that is stored as a whole what only whole turns can do', async () => {
  const { start, ended } = simulateProcesses()
  const asks = localTool({ name: 'asks', input, run: async (_, { turn }) => (await turn?.ask('Sure?'))?.text })
  const may = { ...asks, name: 'may', usesTurn: true }
  const asked = scriptedModel(toolCalls(['asks', '{}'], ['may', '{}']), textReply('Well'))
  const { service } = start(createAgentLoop({ model: asked, tools: [asks, may] }))
  const { id } = taskOf(await send(service, 'go'))
  void send(service, 'yes', { taskId: id })
  await ended(id)
  expect(toldTo(asked)).toEqual([
    { type: 'error-text', value: expect.stringContaining('give "asks" the option usesTurn: true') },
    { type: 'text', value: 'yes' },
  ])
})

it('goes on with the task of another agent that has asked, in the same process as in another one', async () => {
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
  const asked = scriptedModel(textReply('Here'))
  const second = start(createAgentLoop({ model: asked, tools }))
  void send(second.service, 'short', { taskId: id })
  expect((await ended(id)).status.state).toBe('completed')
  expect(toldTo(asked)).toEqual([{ type: 'text', value: 'plain, short' }])
})

it('asks everything that the tools of one step ask, each once, and each gets its answer across restarts', async () => {
  const { start, ended } = simulateProcesses()
  const ran: string[] = []
  const tools = [
    clientTool({ name: 'locate', input }),
    clientTool({ name: 'look', input, needsApproval: true }),
    localTool({ name: 'wipe', input, needsApproval: true, run: () => ran.push('wipe') }),
    localTool({ name: 'talk', input, usesTurn: true, run: async (_, { turn }) => (await turn?.ask('Name?'))?.text }),
    localTool({ name: 'chat', input, usesTurn: true, run: async (_, { turn }) => (await turn?.ask('Age?'))?.text }),
  ]
  const asked = scriptedModel(toolCalls(...tools.map(({ name }): [string, string] => [name, '{}'])))
  const first = start(createAgentLoop({ model: asked, tools }))
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
  const [locate, look, wipe, ...talks] = toldTo(other) as { value: unknown }[]
  expect([locate?.value, look?.value, wipe?.value]).toEqual(['yes to call-0', 'yes to call-1', 1])
  expect(new Set(talks.map(({ value }) => value)).size).toBe(2)
  expect([ran, new Set(seen).size]).toEqual([['wipe'], 6])
})

it.each([
  ['continue', 'completed'],
  ['fail', 'failed'],
] as const)(
  'a tool of the caller that nobody runs in time expires across restarts, policy %s',
  async (onTimeout, state) => {
    const { start, ended } = simulateProcesses()
    const tools = [clientTool({ name: 'locate', input, timeout: 150, onTimeout })]
    const one = start(createAgentLoop({ model: scriptedModel(toolCalls(['locate', '{}'])), tools }))
    const id = await startTask(one)
    await isAsking(one.service, id)
    one.kill()
    const asked = scriptedModel(textReply('Somewhere'))
    start(createAgentLoop({ model: asked, tools }))
    const task = await ended(id)
    expect(task.status.state).toBe(state)
    if (state === 'failed') {
      expect(task.status.message?.metadata).toEqual({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.15 })
    } else
      expect(toldTo(asked)).toEqual([{ type: 'error-text', value: expect.stringContaining('was not answered by') }])
  },
)
