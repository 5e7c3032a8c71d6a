import type { Lease, TaskLog } from '../../../core/tasks/log.ts'
import { expect } from '../expect.ts'
import { type StoreTest, sleep, storeTest, until } from '../store-test.ts'
import { chunk, createTask, lease, message, newTask, reply, status, upTo } from './fixtures.ts'

const short = { holder: 'test', ttl: 40 }

export const leasesTests: readonly StoreTest<TaskLog>[] = [
  storeTest('the creator of a task holds its lease', async (log) => {
    const taskId = await createTask(log)
    expect(await log.acquire(taskId, lease)).toBeUndefined()
  }),
  storeTest('a released lease can be acquired, by one holder only, with a higher fence', async (log) => {
    const taskId = await createTask(log)
    expect(await log.release(taskId, 1, 1)).toBe(true)
    const acquired = await Promise.all(upTo(10).map(() => log.acquire(taskId, lease)))
    expect(acquired.filter(Boolean)).toEqual([{ fence: 2 }])
  }),
  storeTest('an expired lease can be acquired', async (log) => {
    const task = newTask()
    await log.create(task, [message()], { lease: short })
    let acquired: Lease | undefined
    await until(async () => {
      acquired = await log.acquire(task.taskId, lease)
      return acquired !== undefined
    })
    expect(acquired).toEqual({ fence: 2 })
  }),
  storeTest('a renewed lease does not expire', async (log) => {
    const task = newTask()
    await log.create(task, [message()], { lease: short })
    expect(await log.renew([{ taskId: task.taskId, fence: 1 }], 10_000)).toEqual([])
    await sleep(60)
    expect(await log.acquire(task.taskId, lease)).toBeUndefined()
    expect(await log.orphans(10)).toEqual([])
  }),
  storeTest('a renewal returns the lost leases', async (log) => {
    const held = await createTask(log)
    const released = await createTask(log)
    await log.release(released, 1, 1)
    const acquired = newTask()
    await log.create(acquired, [message()], { lease: { ...lease, ttl: 0 } })
    await log.acquire(acquired.taskId, lease)
    const leases = [held, released, acquired.taskId, 'unknown'].map((taskId) => ({ taskId, fence: 1 }))
    expect(await log.renew(leases, 10_000)).toEqual([released, acquired.taskId, 'unknown'])
    expect(await log.renew([], 10_000)).toEqual([])
  }),
  storeTest('a release is refused if its holder has not seen the newest event', async (log) => {
    const taskId = await createTask(log)
    await log.append(taskId, 1, [message('one more')], {})
    expect(await log.release(taskId, 1, 1)).toBe(false)
    expect(await log.acquire(taskId, lease)).toBeUndefined()
    expect(await log.release(taskId, 1, 2)).toBe(true)
  }),
  storeTest('a message that races a release is seen by the writer or finds the lease free', async (log) => {
    for (const first of ['message', 'release']) {
      const taskId = await createTask(log)
      const append = () => log.append(taskId, 1, [message('one more')], { lease })
      const release = () => log.release(taskId, 1, 1)
      const [appended, released] =
        first === 'message'
          ? await Promise.all([append(), release()])
          : (await Promise.all([release(), append()])).toReversed()
      expect(appended).toMatchObject({ type: 'stored', generation: 2 })
      expect([appended, released]).toMatchObject(
        released ? [{ lease: { fence: 2 } }, true] : [{ lease: undefined }, false],
      )
    }
  }),
  storeTest('a release with an old fence succeeds and does not affect the new holder', async (log) => {
    const task = newTask()
    await log.create(task, [message()], { lease: { ...lease, ttl: 0 } })
    await log.acquire(task.taskId, lease)
    expect(await log.release(task.taskId, 1, 1)).toBe(true)
    expect(await log.acquire(task.taskId, lease)).toBeUndefined()
    expect(await log.release('unknown', 1, 1)).toBe(true)
  }),
  storeTest('an append acquires a free lease in the same step', async (log) => {
    const taskId = await createTask(log)
    expect(await log.append(taskId, 1, [message()], { lease })).toEqual({
      type: 'stored',
      generation: 2,
      lease: undefined,
    })
    await log.release(taskId, 1, 2)
    expect(await log.append(taskId, 1, [message()], { lease })).toEqual({ type: 'behind', generation: 2 })
    expect(await log.append(taskId, 2, [message()], { lease })).toEqual({
      type: 'stored',
      generation: 3,
      lease: { fence: 2 },
    })
    expect(await log.append(taskId, 3, [status('working')], { fence: 1 })).toEqual({ type: 'fenced' })
    expect(await log.append(taskId, 3, [status('working')], { fence: 2 })).toMatchObject({ type: 'stored' })
  }),
  storeTest('an append that acquires an expired lease says that its holder has left the task', async (log) => {
    const orphan = await beginAbandoned(log)
    const taken = await log.append(orphan, 2, [message()], { lease })
    expect(taken).toMatchObject({ type: 'stored', lease: { fence: 2, isTakenOver: true } })
    await log.release(orphan, 2, 3)
    const free = await log.append(orphan, 3, [message()], { lease })
    expect(free).toEqual({ type: 'stored', generation: 4, lease: { fence: 3 } })
  }),
  storeTest('a task with an expired lease is an orphan until its lease is acquired', async (log) => {
    const held = await createTask(log, {}, status('working'))
    const orphan = await beginAbandoned(log)
    expect(await log.orphans(10)).toEqual([await log.head(orphan)])
    await log.append(orphan, 2, [chunk('still alive')], { fence: 1 })
    expect(await log.orphans(10)).toMatchObject([{ taskId: orphan, generation: 3 }])
    await log.acquire(orphan, lease)
    expect(await log.orphans(10)).toEqual([])
    await log.release(held, 1, 2)
    expect(await log.orphans(10)).toEqual([])
  }),
  storeTest('an orphan is found although the time of day is set back twice', async (log) => {
    await withTimeOfDay(async (move) => {
      const task = newTask()
      const hour = 60 * 60 * 1000
      move(-hour)
      await log.create(task, [message(), status('working')], { lease: short })
      const held = await createTask(log, {}, status('working'))
      move(-hour)
      await sleep(60)
      expect(await log.orphans(10, lease.ttl)).toMatchObject([{ taskId: task.taskId }])
      expect(await log.acquire(held, lease)).toBeUndefined()
      move(3 * hour)
      expect(await log.orphans(10, lease.ttl)).toMatchObject([{ taskId: task.taskId }])
      expect(await log.acquire(held, lease)).toBeUndefined()
      expect(await log.acquire(task.taskId, lease)).toEqual({ fence: 2 })
    })
  }),
  storeTest('a lease that is renewed for 0 ms makes the task an orphan at once', async (log) => {
    const taskId = await createTask(log, {}, status('working'))
    expect(await log.renew([{ taskId, fence: 1 }], 0)).toEqual([])
    expect(await log.orphans(10)).toMatchObject([{ taskId }])
    expect(await log.acquire(taskId, lease)).toEqual({ fence: 2 })
    expect(await log.append(taskId, 2, [chunk('late')], { fence: 1 })).toEqual({ type: 'fenced' })
  }),
  storeTest(
    'a lease that is released until a time can be acquired at once, and makes an orphan at that time',
    async (log) => {
      const [answered, forgotten] = [await createTask(log), await createTask(log)]
      const wakeAt = Date.now() + 1_000
      for (const taskId of [answered, forgotten]) expect(await log.release(taskId, 1, 1, wakeAt)).toBe(true)
      expect(await log.renew([{ taskId: answered, fence: 1 }], 10_000)).toEqual([answered])
      expect(await log.orphans(10)).toEqual([])
      const acquired = await log.append(answered, 1, [message()], { lease })
      expect(acquired).toMatchObject({ type: 'stored', lease: { fence: 2 } })
      await sleep(wakeAt + 20 - Date.now())
      expect(await log.orphans(10)).toMatchObject([{ taskId: forgotten }])
      expect(await log.acquire(forgotten, lease)).toEqual({ fence: 2 })
      expect(await log.orphans(10)).toEqual([])
    },
  ),
  storeTest('an orphan whose lease is acquired and released is no orphan any more', async (log) => {
    const taskId = await createTask(log)
    await log.release(taskId, 1, 1, Date.now() - 1)
    expect(await log.orphans(10)).toMatchObject([{ taskId }])
    expect(await log.acquire(taskId, lease)).toEqual({ fence: 2 })
    expect(await log.release(taskId, 2, 1)).toBe(true)
    expect(await log.orphans(10)).toEqual([])
  }),
  storeTest('the lease of an ended task cannot be acquired', async (log) => {
    const done = await createTask(log, {}, status('completed'))
    const answered = await createTask(log)
    await log.append(answered, 1, [reply], { fence: 1 })
    const late = newTask()
    await log.create(late, [message()], { lease: { ...lease, ttl: 0 } })
    await log.append(late.taskId, 1, [status('working'), status('failed')], { fence: 1 })
    for (const taskId of [done, answered, late.taskId]) {
      expect(await log.acquire(taskId, lease)).toBeUndefined()
      expect(await log.renew([{ taskId, fence: 1 }], 10_000)).toEqual([taskId])
    }
    expect(await log.orphans(10)).toEqual([])
  }),
  storeTest('the list of orphans respects the limit', async (log) => {
    for (const _ of upTo(5)) await beginAbandoned(log)
    expect(await log.orphans(3)).toHaveLength(3)
    expect(await log.orphans(10)).toHaveLength(5)
  }),
]

async function beginAbandoned(log: TaskLog): Promise<string> {
  const task = newTask()
  await log.create(task, [message(), status('working')], { lease: { holder: 'dead', ttl: 0 } })
  return task.taskId
}

/** Lets the work move the time of day of this process. */
async function withTimeOfDay(work: (move: (milliseconds: number) => void) => Promise<void>): Promise<void> {
  const realNow = Date.now
  let offset = 0
  Date.now = () => realNow() + offset
  try {
    await work((milliseconds) => {
      offset += milliseconds
    })
  } finally {
    Date.now = realNow
  }
}
