import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'
import type { RuntimeOptions } from '../options.ts'

function startRuntime(run: AgentFunction, options: Partial<RuntimeOptions>) {
  const runtime = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

const untilAborted: AgentFunction = (turn) =>
  new Promise((resolve) => turn.signal.addEventListener('abort', () => resolve()))

it('a full queue rejects a message, also of a task that runs in another process', async () => {
  const log = createMemoryLog()
  const go = deferred()
  const here = startRuntime(() => go.promise.then(() => 'done'), { log, queueLimit: 3 })
  const there = startRuntime(() => 'never', { log, queueLimit: 3 })
  const { id } = taskOf(await send(here.service, 'go', { returnImmediately: true }))
  const sends = ['a', 'b', 'c'].map((text) => send(there.service, text, { taskId: id }))
  await until(async () => (await here.service.getTask({ taskId: id }, callOf())).history.length === 4)
  await expect(send(there.service, 'd', { taskId: id })).rejects.toMatchObject({
    code: 'unavailable',
    message: `Task ${id} has 3 messages waiting: send this one later.`,
  })
  go.resolve()
  await Promise.all(sends)
})

it('a full queue fails the task with whenFull: fail, also from another process', async () => {
  const log = createMemoryLog()
  const options = { log, queueLimit: 2, whenFull: 'fail' } as const
  const here = startRuntime(untilAborted, options)
  const there = startRuntime(() => 'never', options)
  const { id } = taskOf(await send(here.service, 'go', { returnImmediately: true }))
  const sends = [here, there, there].map(({ service }) => send(service, 'more', { taskId: id }))
  for (const sent of await Promise.all(sends)) {
    expect(taskOf(sent).status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'More than 2 messages waited for this task.' }] },
    })
  }
  await expect(send(there.service, 'late', { taskId: id })).rejects.toMatchObject({ code: 'task-ended' })
})

it('a busy task rejects a message with whileBusy: reject', async () => {
  const go = deferred()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await go.promise
    },
    { whileBusy: 'reject' },
  )
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  await expect(send(service, 'two', { taskId: id })).rejects.toMatchObject({ code: 'conflict' })
  go.resolve()
  await until(async () => (await service.getTask({ taskId: id }, callOf())).status.state === 'completed')
})

it('a message beyond the queue limit is rejected', async () => {
  const go = deferred()
  const { service } = createTestRuntime(() => go.promise, { queueLimit: 2 })
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  for (const text of ['a', 'b']) await send(service, text, { taskId: id, returnImmediately: true })
  await until(async () => (await service.getTask({ taskId: id }, callOf())).history.length === 3)
  await expect(send(service, 'c', { taskId: id })).rejects.toMatchObject({ code: 'unavailable', retryAfter: 5 })
  go.resolve()
})
