import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { Principal } from '../../protocol/model.ts'
import type { RuntimeOptions } from '../options.ts'

function startRuntime(run: AgentFunction, options: Partial<RuntimeOptions> = {}) {
  const runtime = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

const act: AgentFunction = (turn) => (turn.text === 'fail' ? turn.fail('no') : turn.status('completed', 'yes'))

const alice: Principal = { id: 'alice', tenant: 'acme' }

it('the tasks of a principal are erased and reported', async () => {
  const { service, erase, log } = startRuntime(act)
  const call = callOf({ principal: alice })
  const erased = taskOf(await send(service, 'go', {}, call))
  const remaining = taskOf(await send(service, 'go'))
  const { tasks } = await erase({ principal: { id: 'alice', tenant: 'acme' } })
  expect(tasks).toEqual([{ taskId: erased.id, contextId: erased.contextId, events: erased.generation }])
  await expect(service.getTask({ taskId: erased.id }, call)).rejects.toMatchObject({ code: 'task-not-found' })
  expect(await log.read(erased.id, 0)).toEqual([])
  expect(await service.getTask({ taskId: remaining.id }, callOf())).toEqual(remaining)
  expect(await erase({ principal: alice })).toEqual({ tasks: [], pushConfigs: 0 })
})

it('erasing a context stops its turns and ends its callers', async () => {
  const aborted = deferred()
  const { service, erase, log } = startRuntime(async (turn) => {
    await turn.status('working', 'at work')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    aborted.resolve()
    await turn.status('completed', 'too late').catch(() => {})
  })
  const message = messageOf('go', { contextId: 'c' })
  const blocked = service.sendMessage({ message }, callOf())
  const streamed = collect(service.streamMessage({ message: messageOf('go', { contextId: 'c' }) }, callOf()))
  await until(async () => (await service.listTasks({ contextId: 'c' }, callOf())).totalSize === 2)
  const { tasks } = await erase({ contextId: 'c' })
  expect(tasks).toHaveLength(2)
  await expect(blocked).rejects.toMatchObject({ code: 'task-not-found' })
  await streamed
  await aborted.promise
  for (const { taskId } of tasks) expect(await log.read(taskId, 0)).toEqual([])
})

it('the webhooks of erased tasks, and those of the principal on other tasks, are erased', async () => {
  const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })
  const { service, erase } = startRuntime(act, { push: { fetch }, policy: () => 'everyone' })
  const call = callOf({ principal: alice })
  const erased = taskOf(await send(service, 'go', {}, call))
  const remaining = taskOf(await send(service, 'go'))
  const url = 'https://example.com/hook'
  for (const taskId of [erased.id, remaining.id]) await service.createPushConfig({ taskId, url }, call)
  await service.createPushConfig({ taskId: remaining.id, url }, callOf())
  const { tasks, pushConfigs } = await erase({ principal: alice })
  expect([tasks.map(({ taskId }) => taskId), pushConfigs]).toEqual([[erased.id], 2])
  expect((await service.listPushConfigs({ taskId: remaining.id }, callOf())).configs).toHaveLength(1)
  expect((await erase({ contextId: remaining.contextId })).pushConfigs).toBe(1)
})

it.each([
  [{}, 'expected a principal, a contextId, or both; got neither'],
  [{ contextId: '' }, 'expected contextId to be a text that is not empty, got ""'],
  [{ principal: {} }, 'expected principal.id to be a text, got undefined'],
])('an incomplete request erases nothing: %j', async (request, problem) => {
  const { erase } = startRuntime(act)
  await expect(erase(request as { contextId: string })).rejects.toThrow(problem)
})
