import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { until } from '../../../../test/support/async.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { A2AError } from '../../protocol/errors.ts'
import { inputRequestIn, toolResult } from '../../protocol/extensions/client-tools.ts'
import type { Part, Task } from '../../protocol/model.ts'

/** Continues without an answer. */
const patient: AgentFunction = async (turn) => {
  try {
    return `You said ${(await turn.ask('Sure?', { timeout: 60, onTimeout: 'continue' })).text}`
  } catch (error) {
    return `${error instanceof A2AError ? error.code : error}`
  }
}

describe.each(['fail', 'resume'] as const)('an expired question with the recovery policy %s', (recovery) => {
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

  it('an unanswered question fails the task with machine-readable metadata', async () => {
    const { service, read } = startRuntime(async (turn) => (await turn.ask('Sure?', { timeout: 50 })).text)
    const { id } = taskOf(await send(service, 'go'))
    await until(async () => (await read(id)).status.state === 'failed')
    const { status } = await read(id)
    expect(status.message?.metadata).toEqual({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.05 })
  })

  it('a turn that continues without an answer rejects a late one', async () => {
    const done = Promise.withResolvers<void>()
    const { service, read, answer } = startRuntime(async (turn) => {
      const outcome = await patient(turn)
      await turn.status('working', `${outcome}`)
      await turn.step('wait', async () => await done.promise)
      return 'done'
    })
    const question = taskOf(await send(service, 'go'))
    await until(async () => JSON.stringify(await read(question.id)).includes('input-timeout'))
    const late = { data: { toolUseId: requestOf(question), result: 'yes' }, mediaType: toolResult }
    await expect(answer(question.id, late)).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('which has expired'),
    })
    done.resolve()
    await until(async () => (await read(question.id)).status.state === 'completed')
  })

  it('an uncaught input timeout fails the task with the same metadata', async () => {
    const { service, read } = startRuntime(
      async (turn) => (await turn.ask('Sure?', { timeout: 50, onTimeout: 'continue' })).text,
    )
    const { id } = taskOf(await send(service, 'go'))
    await until(async () => (await read(id)).status.state === 'failed')
    expect((await read(id)).status.message?.metadata).toMatchObject({ reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.05 })
  })
})

it('a question expires after its process is gone, and the next process continues the turn', async () => {
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

it('a resumed turn gets the same input timeout again', async () => {
  const { start, ended } = simulateProcesses()
  const hung = Promise.withResolvers<void>()
  const code =
    (wait: () => unknown): AgentFunction =>
    async (turn) => {
      const outcome = await patient(turn)
      await turn.status('working', `Heard ${outcome}`)
      await turn.step('wait', wait)
      return `${outcome}, ${(await turn.ask('And now?')).text}`
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
