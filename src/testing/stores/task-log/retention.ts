import type { TaskLog } from '../../../core/tasks/log.ts'
import { expect, expectFailure } from '../expect.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import { chunk, createTask, lease, message, newTask, readAll, reply, status, upTo } from './fixtures.ts'

export const retentionTests: readonly StoreTest<TaskLog>[] = [
  storeTest('a task that ended before the given time expires to a tombstone', async (log) => {
    const task = newTask()
    await log.create(task, [message(), status('working'), chunk('secret'), status('completed', 1_000)], { lease })
    await log.keepSnapshot({ ...task, generation: 4, artifacts: [], history: [] })
    const { created, changed } = (await log.head(task.taskId)) ?? {}

    expect(await log.expire(1_000, 10)).toBe(0)
    expect(await log.expire(1_001, 10)).toBe(1)
    expect(await log.head(task.taskId)).toEqual({ ...task, generation: 4, phase: 'expired', created, changed })
    expect(await log.read(task.taskId, 0)).toEqual([])
    expect(await log.snapshot(task.taskId)).toBeUndefined()
    expect(await log.expire(1_001, 10)).toBe(0)
  }),
  storeTest('a tombstone accepts no events, leases or snapshots', async (log) => {
    const taskId = await createTask(log, {}, status('completed'))
    await log.expire(2_000, 10)
    expect(await log.append(taskId, 2, [message()], {})).toEqual({ type: 'gone' })
    expect(await log.append(taskId, 2, [status('working')], { fence: 1 })).toEqual({ type: 'gone' })
    expect(await log.acquire(taskId, lease)).toBeUndefined()
    expect(await log.renew([{ taskId, fence: 1 }], 1_000)).toEqual([taskId])
    await log.keepSnapshot({ ...newTask({ taskId }), generation: 9, artifacts: [], history: [] })
    expect(await log.snapshot(taskId)).toBeUndefined()
    await expectFailure(log.create(newTask({ taskId }), [message()], { lease }), /exists already/)
  }),
  storeTest('a task that has not ended never expires', async (log) => {
    const taskId = await createTask(log, {}, status('input-required', 1))
    const received = await createTask(log)
    expect(await log.expire(Date.now() + 10_000, 10)).toBe(0)
    expect(await readAll(log, taskId)).toHaveLength(2)
    expect(await readAll(log, received)).toHaveLength(1)
  }),
  storeTest('an answered exchange expires', async (log) => {
    const taskId = await createTask(log, {}, reply)
    expect(await log.expire(Date.now() - 10_000, 10)).toBe(0)
    expect(await log.expire(Date.now() + 10_000, 10)).toBe(1)
    expect(await log.read(taskId, 0)).toEqual([])
  }),
  storeTest('the keys of a tombstone stay claimed until it is removed', async (log) => {
    const task = newTask()
    const claims = [{ key: 'k', digest: 'd' }]
    await log.create(task, [message(), status('completed', 1_000)], { lease, claims })
    expect(await log.forget(2_000, 10)).toBe(0)
    await log.expire(2_000, 10)
    expect(await log.claimed('alice', 'k')).toMatchObject({ taskId: task.taskId })
    expect(await log.forget(1_000, 10)).toBe(0)
    expect(await log.forget(2_000, 10)).toBe(1)
    expect(await log.head(task.taskId)).toBeUndefined()
    await createTask(log) // may reuse the row key of the removed task, but not its claims
    expect(await log.claimed('alice', 'k')).toBeUndefined()
  }),
  storeTest('a new task can use the id of a removed tombstone', async (log) => {
    const taskId = await createTask(log, {}, status('completed'))
    await log.expire(2_000, 10)
    await log.forget(2_000, 10)
    await log.create(newTask({ taskId }), [message('new')], { lease })
    expect(await readAll(log, taskId)).toEqual([{ generation: 1, event: message('new') }])
  }),
  storeTest('expiry and removal respect the limit', async (log) => {
    for (const _ of upTo(5)) await createTask(log, {}, status('completed'))
    expect(await log.expire(2_000, 3)).toBe(3)
    expect(await log.expire(2_000, 3)).toBe(2)
    expect(await log.forget(2_000, 4)).toBe(4)
    expect(await log.forget(2_000, 4)).toBe(1)
  }),
  storeTest('only tasks that ended in one of the given phases expire', async (log) => {
    const failed = await createTask(log, {}, status('failed'))
    const completed = await createTask(log, {}, status('completed'))
    await createTask(log, {}, status('working'))
    expect(await log.expire(2_000, 10, ['failed', 'rejected', 'answered'])).toBe(1)
    expect(await log.head(failed)).toMatchObject({ phase: 'expired' })
    expect(await log.head(completed)).toMatchObject({ phase: 'completed' })
    expect(await log.expire(2_000, 10, [])).toBe(0)
    expect(await log.expire(2_000, 10, ['completed'])).toBe(1)
  }),
  storeTest('an erased task leaves no events, snapshot, keys, lease or tombstone, in any state', async (log) => {
    const claims = [{ key: 'k', digest: 'd' }]
    const working = newTask()
    await log.create(working, [message(), status('working'), chunk('secret')], { lease, claims })
    await log.keepSnapshot({ ...working, generation: 2, artifacts: [], history: [] })
    const expired = await createTask(log, {}, status('failed'))
    await log.expire(2_000, 10)
    const received = await createTask(log)
    const answered = await createTask(log, {}, reply)
    const others = await createTask(log, { owner: 'bob' })

    const erased = await log.erase({ owner: 'alice' }, 10)
    const counts = new Map(erased.map(({ taskId, events }) => [taskId, events]))
    expect(counts).toEqual(
      new Map([
        [working.taskId, 3],
        [expired, 0],
        [received, 1],
        [answered, 2],
      ]),
    )
    expect(erased.every(({ owner, contextId }) => owner === 'alice' && contextId === 'context')).toBe(true)
    for (const taskId of counts.keys()) {
      expect(await log.head(taskId)).toBeUndefined()
      expect(await log.read(taskId, 0)).toEqual([])
      expect(await log.snapshot(taskId)).toBeUndefined()
      expect(await log.append(taskId, 3, [chunk('late')], { fence: 1 })).toEqual({ type: 'gone' })
      expect(await log.acquire(taskId, lease)).toBeUndefined()
      expect(await log.renew([{ taskId, fence: 1 }], 1_000)).toEqual([taskId])
    }
    expect(await log.claimed('alice', 'k')).toBeUndefined()
    expect(await log.list({ owner: 'alice', limit: 10 })).toMatchObject({ heads: [], total: 0 })
    expect(await readAll(log, others)).toHaveLength(1)
    expect(await log.erase({ owner: 'alice' }, 10)).toEqual([])
  }),
  storeTest('tasks are erased by context, by owner or by both', async (log) => {
    const [one, two] = [await createTask(log, { contextId: 'one' }), await createTask(log, { contextId: 'two' })]
    const bob = await createTask(log, { contextId: 'one', owner: 'bob' })
    const ids = async (erased: ReturnType<typeof log.erase>) => (await erased).map(({ taskId }) => taskId)
    expect(await ids(log.erase({ owner: 'bob', contextId: 'two' }, 10))).toEqual([])
    expect(await ids(log.erase({ owner: 'alice', contextId: 'two' }, 10))).toEqual([two])
    expect(new Set(await ids(log.erase({ contextId: 'one' }, 10)))).toEqual(new Set([one, bob]))
  }),
  storeTest('erasure respects the limit', async (log) => {
    for (const _ of upTo(5)) await createTask(log)
    expect(await log.erase({ owner: 'alice' }, 3)).toHaveLength(3)
    expect(await log.erase({ owner: 'alice' }, 3)).toHaveLength(2)
  }),
]
