import type { TaskLog } from '../../../core/tasks/log.ts'
import { readLimit } from '../../../core/tasks/log.ts'
import { expect } from '../expect.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import { chunk, createTask, message, newTask, readGenerations, status, upTo } from './fixtures.ts'

const never = new AbortController().signal

export const readingTests: readonly StoreTest<TaskLog>[] = [
  storeTest('a long task is read in pages, oldest first', async (log) => {
    const taskId = await createTask(log)
    for (let after = 1; after < 1_001; after += 100) {
      await log.append(
        taskId,
        after,
        Array.from({ length: 100 }, () => chunk('x')),
        { fence: 1 },
      )
    }
    expect(await readGenerations(log, taskId)).toEqual(upTo(1_001))
    expect((await log.read(taskId, 0)).length).toBeLessThanOrEqual(readLimit.events)
    expect((await log.read(taskId, 990)).map(({ generation }) => generation)).toEqual(upTo(1_001).slice(990))
    expect(await log.read(taskId, 1_001)).toEqual([])
    expect(await log.read(taskId, 5_000)).toEqual([])
  }),
  storeTest('an event that is larger than a page can be read', async (log) => {
    const big = 'x'.repeat(2 * readLimit.bytes)
    const taskId = await createTask(log, {}, status('working'), chunk(big), chunk(big), chunk('small'))
    expect(await readGenerations(log, taskId)).toEqual([1, 2, 3, 4, 5])
    expect((await log.read(taskId, 2))[0]).toEqual({ generation: 3, event: chunk(big) })
  }),
  storeTest('waiting ends at once if there are newer events', async (log) => {
    const taskId = await createTask(log, {}, status('working'))
    await log.wait(taskId, 1, never)
    await log.wait(taskId, 0, never)
  }),
  storeTest('waiting ends when an event is appended to the task', async (log) => {
    const taskId = await createTask(log)
    const other = await createTask(log)
    let woken = false
    const waiting = log.wait(taskId, 1, never).then(() => {
      woken = true
    })
    await log.append(other, 1, [chunk('elsewhere')], { fence: 1 })
    expect(woken).toBe(false)
    await log.append(taskId, 1, [chunk('here')], { fence: 1 })
    await waiting
    expect(await log.read(taskId, 1)).toEqual([{ generation: 2, event: chunk('here') }])
  }),
  storeTest('a reader can wait for a task that does not exist yet', async (log) => {
    const task = newTask()
    const waiting = log.wait(task.taskId, 0, never)
    await log.create(task, [message()], { lease: { holder: 'test', ttl: 1_000 } })
    await waiting
  }),
  storeTest('waiting ends when the signal aborts or is already aborted', async (log) => {
    const taskId = await createTask(log)
    const leaving = new AbortController()
    const waiting = log.wait(taskId, 1, leaving.signal)
    leaving.abort()
    await waiting
    await log.wait(taskId, 1, leaving.signal)
    await log.wait('unknown', 0, leaving.signal)
  }),
  storeTest('a thousand waiting readers leave no listeners on their signal', async (log) => {
    const taskId = await createTask(log)
    const leaving = new AbortController()
    const listeners = countListeners(leaving.signal)
    const wait = () => Promise.all(upTo(1_000).map(() => log.wait(taskId, 1, leaving.signal)))

    const woken = wait()
    await log.append(taskId, 1, [chunk('x')], { fence: 1 })
    await woken
    expect(listeners()).toBe(0)

    const aborted = Promise.all(upTo(1_000).map(() => log.wait(taskId, 2, leaving.signal)))
    leaving.abort()
    await aborted
    expect(listeners()).toBe(0)
  }),
  storeTest('only the newest snapshot is stored, and only for an existing task', async (log) => {
    const task = newTask()
    await log.create(task, [message(), status('working')], { lease: { holder: 'test', ttl: 1_000 } })
    expect(await log.snapshot(task.taskId)).toBeUndefined()
    const snapshot = (generation: number) => ({ ...task, generation, artifacts: [], history: [message().message] })
    await log.keepSnapshot(snapshot(1))
    await log.keepSnapshot(snapshot(2))
    await log.keepSnapshot(snapshot(1))
    expect(await log.snapshot(task.taskId)).toEqual(snapshot(2))
    await log.keepSnapshot({ ...snapshot(1), taskId: 'unknown' })
    expect(await log.snapshot('unknown')).toBeUndefined()
  }),
]

/** Counts the listeners that are waiting on a signal. One that is called once is gone when the signal aborts. */
function countListeners(signal: AbortSignal): () => number {
  const waiting = new Map<unknown, boolean>()
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (type: string, listener: EventListener, options?: boolean | AddEventListenerOptions) => {
    waiting.set(listener, typeof options === 'object' && options.once === true)
    add(type, listener, options)
  }
  signal.removeEventListener = (type: string, listener: EventListener) => {
    waiting.delete(listener)
    remove(type, listener)
  }
  return () => [...waiting.values()].filter((isOnce) => !(isOnce && signal.aborted)).length
}
