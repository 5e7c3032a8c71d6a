import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { until } from '../../../test/support/async.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../agent/agent-function.ts'
import { clientTools, inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import type { Part, Task } from '../protocol/model.ts'

const secret = 'hunter2-and-more'

describe.each(['fail', 'resume'] as const)('a sensitive question with the recovery policy %s', (recovery) => {
  function startRuntime(run: AgentFunction) {
    const runtime = createTestRuntime(run, { recovery, leaseTtl: 200, cancelGrace: 20 })
    onTestFinished(() => runtime.drain(0))
    const read = (taskId: string) => runtime.service.getTask({ taskId }, callOf())
    const answer = async (taskId: string, ...parts: Part[]) =>
      taskOf(await runtime.service.sendMessage({ message: messageOf('', { taskId, parts }) }, callOf()))
    const everything = async (taskId: string) => JSON.stringify([await runtime.log.read(taskId, 0), await read(taskId)])
    return { ...runtime, answer, read, everything }
  }
  const requestOf = (task: Task) => `${inputRequestIn(task.status.message)?.requestId}`

  it.each<[string, (id: string) => Part]>([
    ['a text', () => ({ text: secret })],
    ['a result', (id) => ({ data: { toolUseId: id, result: secret }, mediaType: toolResult })],
  ])('a sensitive answer that is %s reaches only the turn', async (_, partOf) => {
    const answers: string[] = []
    const { service, answer, read, everything } = startRuntime(async (turn) => {
      const { text } = await turn.ask('Password?', { sensitive: true })
      answers.push(text)
      await turn.data({ echo: text })
      await turn.status('working', `It is ${text}`)
      return 'Logged in'
    })
    const question = taskOf(await send(service, 'go'))
    expect(question.status.message).toMatchObject({
      extensions: [clientTools],
      metadata: { [clientTools]: { prompt: 'Password?', sensitive: true } },
    })
    const request = requestOf(question)
    expect((await answer(question.id, partOf(request))).status.state).toBe('completed')
    expect(answers).toEqual([secret])
    expect(await everything(question.id)).not.toContain(secret)
    const history = JSON.stringify((await read(question.id)).history)
    expect(history).toContain('redacted')
  })

  it('a sensitive request rejects a second answer and recognizes a repeated one', async () => {
    const done = Promise.withResolvers<void>()
    const { service, answer, read } = startRuntime(async (turn) => {
      await turn.ask('Password?', { sensitive: true, schema: z.string() })
      await turn.step('wait', async () => await done.promise)
      return 'ok'
    })
    const question = taskOf(await send(service, 'go'))
    const part = { data: { toolUseId: requestOf(question), result: secret }, mediaType: toolResult }
    const message = messageOf('', { taskId: question.id, parts: [part] })
    const first = service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
    expect(taskOf(await first).id).toBe(question.id)
    await expect(answer(question.id, part)).rejects.toMatchObject({
      message: expect.stringContaining('answered already'),
    })
    const again = service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
    expect(taskOf(await again).id).toBe(question.id)
    done.resolve()
    await until(async () => (await read(question.id)).status.state === 'completed')
  })
})

it('a sensitive answer that a dead process did not use is asked for again', async () => {
  const { start, ended } = simulateProcesses()
  const hung = Promise.withResolvers<void>()
  const answers: string[] = []
  const code =
    (use: () => unknown): AgentFunction =>
    async (turn) => {
      const { text } = await turn.ask('Password?', { sensitive: true })
      await turn.step('log in', async () => {
        await use()
        answers.push(text)
      })
      return 'in'
    }
  const first = start(
    code(() => {
      hung.resolve()
      return new Promise(() => {})
    }),
  )
  const id = await startTask(first)
  const state = async () => (await first.service.getTask({ taskId: id }, callOf())).status.state
  await until(async () => (await state()) === 'input-required')
  void send(first.service, secret, { taskId: id, returnImmediately: true })
  await hung.promise
  first.kill()
  const second = start(code(() => 1))
  const question = async () => statusTextOf(await second.service.getTask({ taskId: id }, callOf()))
  await until(async () => (await question())?.includes('please give it again') ?? false)
  void send(second.service, secret, { taskId: id })
  expect(statusTextOf(await ended(id))).toBe('in')
  expect(answers).toEqual([secret])
})

it('a resumed turn that reads a lost sensitive answer fails', async () => {
  const { start, ended } = simulateProcesses()
  const hung = Promise.withResolvers<void>()
  const code =
    (wait: () => unknown): AgentFunction =>
    async (turn) => {
      const answer = await turn.ask('Password?', { sensitive: true })
      await turn.step('log in', () => answer.text.length)
      await turn.step('wait', wait)
      return await turn.step('log out', () => answer.text.length).then(() => 'out')
    }
  const first = start(
    code(() => {
      hung.resolve()
      return new Promise(() => {})
    }),
  )
  const id = await startTask(first)
  const state = async () => (await first.service.getTask({ taskId: id }, callOf())).status.state
  await until(async () => (await state()) === 'input-required')
  void send(first.service, secret, { taskId: id, returnImmediately: true })
  await hung.promise
  first.kill()
  start(code(() => 1))
  const task = await ended(id)
  expect([task.status.state, statusTextOf(task)]).toEqual([
    'failed',
    'The answer was given to a process that is gone, and is never stored: ask for it again.',
  ])
})
