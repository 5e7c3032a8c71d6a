import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'
import type { RuntimeOptions } from '../options.ts'

function startRuntime(run: AgentFunction, options: Partial<RuntimeOptions>) {
  const runtime = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

const untilAborted: AgentFunction = (turn) =>
  new Promise((resolve) => turn.signal.addEventListener('abort', () => resolve()))

it('a blocking send returns the working task after blockFor, even without an event', async () => {
  const go = deferred()
  const { service } = startRuntime(() => go.promise.then(() => 'done'), { blockFor: 60 })
  const { id, status } = taskOf(await send(service, 'go'))
  expect(status.state).toBe('working')
  go.resolve()
  await until(async () => (await service.getTask({ taskId: id }, callOf())).status.state === 'completed')
})

it('a blocking send returns in time while the task keeps emitting', async () => {
  const run: AgentFunction = async (turn) => {
    const out = turn.artifact('numbers')
    while (!turn.signal.aborted) await out.write('x')
  }
  const { service } = startRuntime(run, { blockFor: 60 })
  expect(taskOf(await send(service, 'go')).status.state).toBe('working')
})

it('the shorter of the limits of caller and server applies to a blocking send', async () => {
  const { service } = startRuntime(untilAborted, { blockFor: 100 })
  const started = performance.now()
  await send(service, 'go', { blockFor: 60_000 })
  expect(performance.now() - started).toBeLessThan(10_000)
})

it('a caller can limit how long its send blocks', async () => {
  const go = deferred()
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working', 'Still at it')
    await go.promise
  })
  const request = { message: messageOf('x'), configuration: { blockFor: 30 } }
  expect(taskOf(await service.sendMessage(request, callOf())).status.state).toBe('working')
  go.resolve()
})

it('a send with returnImmediately returns the task at once', async () => {
  const answer = deferred<string>()
  const { service } = createTestRuntime(() => answer.promise)
  const task = taskOf(await send(service, 'hi', { returnImmediately: true }))
  expect(task.status.state).toBe('submitted')
  const subscribed = service.subscribeToTask({ taskId: task.id }, callOf())
  await subscribed.next()
  answer.resolve('later')
  expect((await collect(subscribed)).at(-1)).toMatchObject({
    status: { state: 'completed', message: { parts: [{ text: 'later' }] } },
  })
})

it('a repeated message to a task that expires while it is read is rejected', async () => {
  const inner = createMemoryLog()
  let isExpiring = false
  const log: TaskLog = {
    ...inner,
    async read(taskId, after) {
      if (isExpiring) await inner.expire(Date.now() + 60_000, 10)
      return await inner.read(taskId, after)
    },
  }
  const { service } = createTestRuntime((turn) => turn.status('completed'), { log })
  const call = { idempotencyKey: 'once' }
  await send(service, 'x', { messageId: 'm' }, call)
  isExpiring = true
  await expect(send(service, 'x', { messageId: 'm' }, call)).rejects.toMatchObject({ code: 'task-expired' })
})
