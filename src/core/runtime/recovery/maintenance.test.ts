import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, until } from '../../../../test/support/async.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { createAgentEvents } from '../../agent/content.ts'
import type { TaskEvent } from '../../protocol/events.ts'
import { anonymous } from '../../protocol/model.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'
import type { RuntimeOptions } from '../options.ts'

function startRuntime(run: AgentFunction, options: Partial<RuntimeOptions> = {}) {
  const runtime = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

describe('orphaned tasks', () => {
  const task = { taskId: 't', contextId: 'c', owner: 'anonymous' }
  const message: TaskEvent = { type: 'message', message: messageOf('x'), principal: anonymous }
  const working: TaskEvent = createAgentEvents(task).status('working')

  it('an orphaned task fails with a reason', async () => {
    const log = createMemoryLog()
    await log.create(task, [message], { lease: { holder: 'dead', ttl: 30 } })
    const { service } = startRuntime(() => 'never', { log, leaseTtl: 40 })
    await until(async () => (await log.head('t'))?.phase === 'failed')
    const { status } = await service.getTask({ taskId: 't' }, callOf())
    expect(JSON.stringify(status.message)).toContain('stopped before it had finished')
  })

  it('an orphaned task that a caller has canceled is canceled', async () => {
    const log = createMemoryLog()
    await log.create(task, [message, working], { lease: { holder: 'dead', ttl: 0 } })
    await log.append('t', 2, [{ type: 'cancel' }], {})
    startRuntime(() => 'never', { log })
    await until(async () => (await log.head('t'))?.phase === 'canceled')
  })

  it.each(['message', 'cancel'] as const)('a %s during the recovery of a task does not stop it', async (type) => {
    const inner = createMemoryLog()
    await inner.create(task, [message, working], { lease: { holder: 'dead', ttl: 0 } })
    let isFirst = true
    const log: TaskLog = {
      ...inner,
      async append(taskId, after, events, options) {
        if (isFirst) await inner.append(taskId, after, [type === 'message' ? message : { type }], {})
        isFirst = false
        return await inner.append(taskId, after, events, options)
      },
    }
    startRuntime(() => 'never', { log, leaseTtl: 60_000 })
    await until(async () => (await log.head('t'))?.phase === (type === 'message' ? 'failed' : 'canceled'))
  })

  it.each(['fail', 'retry'] as const)('one recovery finds all orphans, with the policy %s', async (recovery) => {
    const log = createMemoryLog()
    const ids = Array.from({ length: 350 }, (_, index) => `t-${index}`)
    const attempt: TaskEvent = { type: 'journal', entry: { type: 'attempt', message: 1, attempt: 1 } }
    for (const taskId of ids) {
      await log.create({ ...task, taskId }, [message, attempt], { lease: { holder: 'dead', ttl: 0 } })
    }
    startRuntime((turn) => turn.status('completed'), { log, recovery, leaseTtl: 60_000 })
    const end = recovery === 'fail' ? 'failed' : 'completed'
    await until(async () => (await log.list({ owner: 'anonymous', phase: end, limit: 1 })).total === ids.length)
  })
})

describe('retention', () => {
  const completeOrFail: AgentFunction = (turn) =>
    turn.text === 'fail' ? turn.fail('no') : turn.status('completed', 'yes')

  it('the retention of a task depends on its state', async () => {
    const log = createMemoryLog()
    const before = startRuntime(completeOrFail, { log })
    const completed = taskOf(await send(before.service, 'go'))
    const failed = taskOf(await send(before.service, 'fail'))
    const { service } = startRuntime(completeOrFail, { log, retention: { ended: 60_000, failed: -1_000 } })
    await until(async () => (await log.head(failed.id))?.phase === 'expired')
    expect((await service.getTask({ taskId: completed.id }, callOf())).status.state).toBe('completed')

    const expired = { code: 'task-expired', message: expect.stringMatching(/has expired: it ended on 2/) }
    const address = { taskId: failed.id }
    await expect(service.getTask(address, callOf())).rejects.toMatchObject(expired)
    await expect(service.cancelTask(address, callOf())).rejects.toMatchObject(expired)
    await expect(send(service, 'more', { taskId: failed.id })).rejects.toMatchObject(expired)
    await expect(collect(service.subscribeToTask(address, callOf()))).rejects.toMatchObject(expired)
    // Another caller must not learn that the task existed.
    const stranger = callOf({ principal: { id: 'mallory' } })
    await expect(service.getTask(address, stranger)).rejects.toMatchObject({ code: 'task-not-found' })
  })

  it('a removed task is reported as expired', async () => {
    const { service, log } = startRuntime(completeOrFail)
    const { id } = taskOf(await send(service, 'x'))
    startRuntime(() => 'x', { log, retention: { ended: -1_000, tombstones: 60_000 } })
    await until(async () => (await log.head(id))?.phase === 'expired')
    const error = await service.getTask({ taskId: id }, callOf()).catch((thrown) => thrown)
    expect(error).toMatchObject({ code: 'task-expired', message: expect.stringContaining('is removed') })
  })

  it('a tombstone is removed after its retention', async () => {
    const log = createMemoryLog()
    const before = startRuntime(completeOrFail, { log })
    const { id } = taskOf(await send(before.service, 'go'))
    const { service } = startRuntime(completeOrFail, { log, retention: { ended: -2_000, tombstones: -2_000 } })
    await until(async () => (await log.head(id)) === undefined)
    await expect(service.getTask({ taskId: id }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
  })
})
