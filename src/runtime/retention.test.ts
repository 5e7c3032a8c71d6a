import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../test/support/async.ts'
import type { AgentFunction } from '../agent/agent.ts'
import type { Principal } from '../protocol/model.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import type { RuntimeOptions } from './options.ts'
import { readRetention } from './options.ts'

function house(run: AgentFunction, options: Partial<RuntimeOptions> = {}) {
  const opened = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => opened.drain(0))
  return opened
}

const act: AgentFunction = (turn) => (turn.text === 'fail' ? turn.fail('no') : turn.status('completed', 'yes'))

it('keeps tasks by their states, and says of one that has expired that it has', async () => {
  const log = createMemoryLog()
  const before = house(act, { log })
  const completed = taskOf(await send(before.service, 'go'))
  const failed = taskOf(await send(before.service, 'fail'))
  const { service } = house(act, { log, retention: { ended: 60_000, failed: -1_000 } })
  await until(async () => (await log.head(failed.id))?.phase === 'expired')
  expect((await service.getTask({ taskId: completed.id }, callOf())).status.state).toBe('completed')

  const expired = { code: 'task-expired', message: expect.stringMatching(/has expired: it ended on 2/) }
  const address = { taskId: failed.id }
  await expect(service.getTask(address, callOf())).rejects.toMatchObject(expired)
  await expect(service.cancelTask(address, callOf())).rejects.toMatchObject(expired)
  await expect(send(service, 'more', { taskId: failed.id })).rejects.toMatchObject(expired)
  await expect(collect(service.subscribeToTask(address, callOf()))).rejects.toMatchObject(expired)
  // Nobody else learns that there was one.
  const other = callOf({ principal: { id: 'mallory' } })
  await expect(service.getTask(address, other)).rejects.toMatchObject({ code: 'task-not-found' })
})

it('forgets what has expired after a while', async () => {
  const log = createMemoryLog()
  const before = house(act, { log })
  const { id } = taskOf(await send(before.service, 'go'))
  const { service } = house(act, { log, retention: { ended: -2_000, tombstones: -2_000 } })
  await until(async () => (await log.head(id)) === undefined)
  await expect(service.getTask({ taskId: id }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
})

it('knows which states go together, and keeps for ever what it is told to', () => {
  const day = 24 * 60 * 60 * 1000
  expect(readRetention()).toEqual({
    groups: [{ age: 30 * day, phases: ['answered', 'completed', 'failed', 'canceled', 'rejected'] }],
    longest: 30 * day,
    forgetAfter: 60 * day,
  })
  const kept = readRetention({ ended: day, completed: Number.POSITIVE_INFINITY, answered: 5, tombstones: 1 })
  expect(kept).toEqual({
    groups: [
      { age: 5, phases: ['answered'] },
      { age: day, phases: ['failed', 'canceled', 'rejected'] },
    ],
    longest: Number.POSITIVE_INFINITY,
    forgetAfter: day + 1,
  })
})

it.each([
  [{ finished: 5 }, 'retention: there is no finished; expected answered, completed'],
  [{ failed: '1d' }, 'retention.failed: expected milliseconds, got "1d"'],
])('refuses the retention %j', (retention, problem) => {
  expect(() => readRetention(retention as object)).toThrow(problem)
})

const alice: Principal = { id: 'alice', tenant: 'acme' }

it('erases what a principal owns, and tells what it was', async () => {
  const { service, erase, log } = house(act)
  const call = callOf({ principal: alice })
  const own = taskOf(await send(service, 'go', {}, call))
  const others = taskOf(await send(service, 'go'))
  const { tasks } = await erase({ principal: { id: 'alice', tenant: 'acme' } })
  expect(tasks).toEqual([{ taskId: own.id, contextId: own.contextId, events: own.generation }])
  await expect(service.getTask({ taskId: own.id }, call)).rejects.toMatchObject({ code: 'task-not-found' })
  expect(await log.read(own.id, 0)).toEqual([])
  expect(await service.getTask({ taskId: others.id }, callOf())).toEqual(others)
  expect(await erase({ principal: alice })).toEqual({ tasks: [], pushConfigs: 0 })
})

it('erases a context, also a turn that is at work in it: it is stopped, and those who wait are told', async () => {
  const aborted = deferred()
  const { service, erase, log } = house(async (turn) => {
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

it('erases the webhooks of what it erases, and those that the principal has elsewhere', async () => {
  const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })
  const { service, erase } = house(act, { push: { fetch }, policy: () => 'everyone' })
  const call = callOf({ principal: alice })
  const own = taskOf(await send(service, 'go', {}, call))
  const others = taskOf(await send(service, 'go'))
  const url = 'https://example.com/hook'
  for (const taskId of [own.id, others.id]) await service.createPushConfig({ taskId, url }, call)
  await service.createPushConfig({ taskId: others.id, url }, callOf())
  const { tasks, pushConfigs } = await erase({ principal: alice })
  expect([tasks.map(({ taskId }) => taskId), pushConfigs]).toEqual([[own.id], 2])
  expect((await service.listPushConfigs({ taskId: others.id }, callOf())).configs).toHaveLength(1)
  expect((await erase({ contextId: others.contextId })).pushConfigs).toBe(1)
})

it.each([
  [{}, 'expected a principal, a contextId, or both; got neither'],
  [{ contextId: '' }, 'expected contextId to be a text that is not empty, got ""'],
  [{ principal: {} }, 'expected principal.id to be a text, got undefined'],
])('erases nothing for %j', async (request, problem) => {
  const { erase } = house(act)
  await expect(erase(request as { contextId: string })).rejects.toThrow(problem)
})
