import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { until } from '../../test/support/async.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../agent/agent.ts'
import { A2AError } from '../protocol/errors.ts'
import { clientTools, inputRequestIn, toolResult } from '../protocol/extensions/client-tools.ts'
import type { Part, Task } from '../protocol/model.ts'

const secret = 'hunter2-and-more'

/** Goes on without an answer. */
const patient: AgentFunction = async (turn) => {
  try {
    return `You said ${(await turn.ask('Sure?', { timeout: 60, onTimeout: 'continue' })).text}`
  } catch (error) {
    return `${error instanceof A2AError ? error.code : error}`
  }
}

describe.each(['fail', 'resume'] as const)('a request for input, policy %s', (recovery) => {
  function house(run: AgentFunction) {
    const opened = createTestRuntime(run, { recovery, leaseTtl: 200, cancelGrace: 20 })
    onTestFinished(() => opened.drain(0))
    const read = (taskId: string) => opened.service.getTask({ taskId }, callOf())
    const answer = async (taskId: string, ...parts: Part[]) =>
      taskOf(await opened.service.sendMessage({ message: messageOf('', { taskId, parts }) }, callOf()))
    const everything = async (taskId: string) => JSON.stringify([await opened.log.read(taskId, 0), await read(taskId)])
    return { ...opened, answer, read, everything }
  }
  const requestOf = (task: Task) => `${inputRequestIn(task.status.message)?.requestId}`

  it('tells programs why a task has failed that nobody answered in time', async () => {
    const { service, read } = house(async (turn) => (await turn.ask('Sure?', { timeout: 50 })).text)
    const { id } = taskOf(await send(service, 'go'))
    await until(async () => (await read(id)).status.state === 'failed')
    const { status } = await read(id)
    expect(status.message?.metadata).toEqual({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.05 })
  })

  it('may go on without an answer, and takes none afterwards', async () => {
    const done = Promise.withResolvers<void>()
    const { service, read, answer } = house(async (turn) => {
      const heard = await patient(turn)
      await turn.status('working', `${heard}`)
      await turn.step('wait', async () => await done.promise)
      return 'done'
    })
    const asked = taskOf(await send(service, 'go'))
    await until(async () => JSON.stringify(await read(asked.id)).includes('input-timeout'))
    const late = { data: { toolUseId: requestOf(asked), result: 'yes' }, mediaType: toolResult }
    await expect(answer(asked.id, late)).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('which has expired'),
    })
    done.resolve()
    await until(async () => (await read(asked.id)).status.state === 'completed')
  })

  it('fails a task whose turn does not heed that there was no answer, with the same facts', async () => {
    const { service, read } = house(
      async (turn) => (await turn.ask('Sure?', { timeout: 50, onTimeout: 'continue' })).text,
    )
    const { id } = taskOf(await send(service, 'go'))
    await until(async () => (await read(id)).status.state === 'failed')
    expect((await read(id)).status.message?.metadata).toMatchObject({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.05 })
  })

  it.each<[string, (id: string) => Part]>([
    ['a text', () => ({ text: secret })],
    ['a result', (id) => ({ data: { toolUseId: id, result: secret }, mediaType: toolResult })],
  ])('gives a sensitive answer that is %s to the turn, and to nobody else', async (_, partOf) => {
    const heard: string[] = []
    const { service, answer, read, everything } = house(async (turn) => {
      const { text } = await turn.ask('Password?', { sensitive: true })
      heard.push(text)
      await turn.data({ echo: text })
      await turn.status('working', `It is ${text}`)
      return 'Logged in'
    })
    const asked = taskOf(await send(service, 'go'))
    expect(asked.status.message).toMatchObject({
      extensions: [clientTools],
      metadata: { [clientTools]: { prompt: 'Password?', sensitive: true } },
    })
    const request = requestOf(asked)
    expect((await answer(asked.id, partOf(request))).status.state).toBe('completed')
    expect(heard).toEqual([secret])
    expect(await everything(asked.id)).not.toContain(secret)
    const told = JSON.stringify((await read(asked.id)).history)
    expect(told).toContain('redacted')
  })

  it('refuses a second answer to a sensitive request, and knows the first one again', async () => {
    const done = Promise.withResolvers<void>()
    const { service, answer, read } = house(async (turn) => {
      await turn.ask('Password?', { sensitive: true, schema: z.string() })
      await turn.step('wait', async () => await done.promise)
      return 'ok'
    })
    const asked = taskOf(await send(service, 'go'))
    const part = { data: { toolUseId: requestOf(asked), result: secret }, mediaType: toolResult }
    const message = messageOf('', { taskId: asked.id, parts: [part] })
    const first = service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
    expect(taskOf(await first).id).toBe(asked.id)
    await expect(answer(asked.id, part)).rejects.toMatchObject({ message: expect.stringContaining('answered already') })
    const again = service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
    expect(taskOf(await again).id).toBe(asked.id)
    done.resolve()
    await until(async () => (await read(asked.id)).status.state === 'completed')
  })
})

it('an expiry outlives the process that asked: the turn goes on without an answer in the next one', async () => {
  const { start, ended } = simulateProcesses()
  const first = start(patient)
  const id = await startTask(first)
  await until(async () => (await first.service.getTask({ taskId: id }, callOf())).status.state === 'input-required')
  first.kill()
  start(patient)
  const task = await ended(id)
  expect(statusTextOf(task)).toBe('input-timeout')
  expect(JSON.stringify(task.history)).toContain('"timeoutSeconds":0.06')
})

it('an expiry that was told once is told the same way to a turn that is resumed after it', async () => {
  const { start, ended } = simulateProcesses()
  const hung = Promise.withResolvers<void>()
  const code =
    (wait: () => unknown): AgentFunction =>
    async (turn) => {
      const heard = await patient(turn)
      await turn.status('working', `Heard ${heard}`)
      await turn.step('wait', wait)
      return `${heard}, ${(await turn.ask('And now?')).text}`
    }
  const first = start(
    code(() => {
      hung.resolve()
      return new Promise(() => {})
    }),
  )
  const id = await startTask(first)
  await hung.promise
  first.kill()
  const second = start(code(() => 1))
  await until(async () => (await second.service.getTask({ taskId: id }, callOf())).status.state === 'input-required')
  void send(second.service, 'fine', { taskId: id })
  expect(statusTextOf(await ended(id))).toBe('input-timeout, fine')
})

it('a sensitive answer that is gone with its process is asked for again if it was not used', async () => {
  const { start, ended } = simulateProcesses()
  const hung = Promise.withResolvers<void>()
  const heard: string[] = []
  const code =
    (use: () => unknown): AgentFunction =>
    async (turn) => {
      const { text } = await turn.ask('Password?', { sensitive: true })
      await turn.step('log in', async () => {
        await use()
        heard.push(text)
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
  const asked = async () => statusTextOf(await second.service.getTask({ taskId: id }, callOf()))
  await until(async () => (await asked())?.includes('please give it again') ?? false)
  void send(second.service, secret, { taskId: id })
  expect(statusTextOf(await ended(id))).toBe('in')
  expect(heard).toEqual([secret])
})

it('a turn that needs an answer which is gone, after it has gone on with it, is told so', async () => {
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
