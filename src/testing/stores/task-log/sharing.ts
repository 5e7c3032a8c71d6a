import type { StoredEvent } from '../../../core/protocol/events.ts'
import { follow } from '../../../core/tasks/follow.ts'
import { readLimit, type TaskLog } from '../../../core/tasks/log.ts'
import { expect, expectFailure } from '../expect.ts'
import { type StoreTest, sleep, storageTest, until } from '../store-test.ts'
import { chunk, createTask, lease, message, newTask, readAll, readGenerations, status, upTo } from './fixtures.ts'
import { expectExactTotals } from './listing.ts'

/** The further behaviour of a durable log that several processes share. */
export const sharedTaskLogTests: readonly StoreTest<TaskLog>[] = [
  storageTest('stored data survives closing and opening the log', async (shared) => {
    const log = await shared.open()
    const task = newTask()
    const claims = [{ key: 'k', digest: 'd' }]
    await log.create(task, [message('\u0000 é 😀 \ud800'), status('working')], { lease, claims })
    await log.keepSnapshot({ ...task, generation: 1, artifacts: [], history: [message().message] })
    const stored = await everything(log)
    await log.close()
    expect(await everything(await shared.open())).toEqual(stored)

    async function everything(from: TaskLog) {
      return {
        events: await readAll(from, task.taskId),
        head: await from.head(task.taskId),
        snapshot: await from.snapshot(task.taskId),
        claimed: await from.claimed('alice', 'k'),
        page: await from.list({ owner: 'alice', limit: 10 }),
        lease: await from.acquire(task.taskId, lease),
      }
    }
  }),
  storageTest('totals stay exact while several processes send, cancel, expire and erase at once', async (shared) => {
    await expectExactTotals([await shared.open(), await shared.open()])
  }),
  storageTest('closing completes the running writes, and every later call is rejected', async (shared) => {
    const log = await shared.open()
    const taskId = await createTask(log)
    const appending = log.append(taskId, 1, [chunk('last words')], { fence: 1 })
    const waiting = log.wait(taskId, 5, new AbortController().signal)
    await log.close()
    expect(await appending).toMatchObject({ type: 'stored' })
    await waiting
    await log.close()
    const never = new AbortController().signal
    for (const call of [
      () => log.append(taskId, 2, [chunk('late')], { fence: 1 }),
      () => log.create(newTask(), [message()], { lease }),
      () => log.read(taskId, 0),
      () => log.head(taskId),
      () => log.wait(taskId, 2, never),
      () => log.list({ owner: 'alice', limit: 1 }),
      () => log.acquire(taskId, lease),
    ]) {
      await expectFailure(call(), /is closed/)
    }
    expect(await readGenerations(await shared.open(), taskId)).toEqual([1, 2])
  }),
  storageTest('a process sees at once what another process stored', async (shared) => {
    const [one, two] = [await shared.open(), await shared.open()]
    const taskId = await createTask(one)
    expect(await readGenerations(two, taskId)).toEqual([1])
    expect(await two.append(taskId, 1, [message('from two')], {})).toMatchObject({ type: 'stored' })
    expect(await one.head(taskId)).toMatchObject({ generation: 2 })
    expect(await readAll(one, taskId)).toEqual(await readAll(two, taskId))
    expect(await one.append(taskId, 1, [chunk('x')], { fence: 1 })).toEqual({ type: 'behind', generation: 2 })
    await one.append(taskId, 2, [status('working')], { fence: 1 })
    await two.append(taskId, 3, [{ type: 'cancel' }], {})
    await one.append(taskId, 4, [status('canceled')], { fence: 1 })
    for (const after of upTo(5)) expect(await readAll(one, taskId, after)).toEqual(await readAll(two, taskId, after))
  }),
  storageTest('a waiting reader is woken by an append of another process', async (shared) => {
    const [one, two] = [await shared.open(), await shared.open()]
    const taskId = await createTask(one)
    const never = new AbortController().signal
    for (const after of upTo(5)) {
      const waiting = one.wait(taskId, after, never)
      await two.append(taskId, after, [message()], {})
      await waiting
      expect((await one.head(taskId))?.generation).toBe(after + 1)
      await sleep(after) // at another point of its rhythm each time
    }
  }),
  storageTest('a waiting reader is not woken by appends to other tasks', async (shared) => {
    const [one, two] = [await shared.open(), await shared.open()]
    const taskId = await createTask(one)
    const leaving = new AbortController()
    let woken = false
    const waiting = one.wait(taskId, 1, leaving.signal).then(() => {
      woken = true
    })
    await createTask(two)
    await sleep(150)
    expect(woken).toBe(false)
    leaving.abort()
    await waiting
  }),
  storageTest(
    'following a task ends when another process erases it, before or while the reader waits',
    async (shared) => {
      const [one, two] = [await shared.open(), await shared.open()]
      const [taskId, late] = [await createTask(one), await createTask(one)]
      const unaffected = await createTask(one, { owner: 'bob' })
      const leaving = new AbortController()
      const never = new AbortController().signal
      let isFollowed = true
      const followingOther = drain(follow(one, unaffected, 0, leaving.signal)).then(() => {
        isFollowed = false
      })
      const following = drain(follow(one, taskId, 0, never))
      await one.wait(taskId, 0, never)
      const waiting = one.wait(taskId, 1, never)
      expect(await two.erase({ owner: 'alice' }, 10)).toHaveLength(2)
      expect(await following).toBe(1)
      await waiting
      // A reader that looked before the erasure and waits only now.
      await one.wait(late, 1, never)
      await sleep(100)
      await one.wait(late, 1, never)
      expect(isFollowed).toBe(true)
      leaving.abort()
      await followingOther
    },
  ),
  storageTest('leases and fences hold across processes', async (shared) => {
    const [one, two] = [await shared.open(), await shared.open()]
    const task = newTask()
    await one.create(task, [message()], { lease })
    expect(await two.acquire(task.taskId, lease)).toBeUndefined()
    expect(await one.renew([{ taskId: task.taskId, fence: 1 }], 50)).toEqual([])
    await until(async () => (await two.orphans(10)).some(({ taskId }) => taskId === task.taskId))
    expect(await two.acquire(task.taskId, lease)).toEqual({ fence: 2 })
    expect(await one.append(task.taskId, 1, [status('working')], { fence: 1 })).toEqual({ type: 'fenced' })
    expect(await one.renew([{ taskId: task.taskId, fence: 1 }], 100)).toEqual([task.taskId])
  }),
  storageTest('a page is bounded in bytes', async (shared) => {
    const log = await shared.open()
    const taskId = await createTask(log, {}, ...upTo(40).map(() => chunk('x'.repeat(20_000))))
    for (const reader of [log, await shared.open()]) {
      expect(await readGenerations(reader, taskId)).toEqual(upTo(41))
      const page = await reader.read(taskId, 0)
      expect(JSON.stringify(page).length).toBeLessThan(readLimit.bytes + 50_000)
    }
  }),
]

/** How many events came until there were no more. */
async function drain(events: AsyncIterable<StoredEvent>): Promise<number> {
  let count = 0
  for await (const _ of events) count++
  return count
}
