import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { readLimit } from '../../../src/core/tasks/log.ts'
import {
  chunk,
  createTask,
  message,
  newTask,
  type OpenLog,
  openForTest,
  readGenerations,
  status,
  upTo,
} from './fixtures.ts'

const never = new AbortController().signal

export function readingContract(open: OpenLog): void {
  test('a long task is read in pages, oldest first', async () => {
    const log = await openForTest(open)
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
  })

  test('an event that is larger than a page can be read', async () => {
    const log = await openForTest(open)
    const big = 'x'.repeat(2 * readLimit.bytes)
    const taskId = await createTask(log, {}, status('working'), chunk(big), chunk(big), chunk('small'))
    expect(await readGenerations(log, taskId)).toEqual([1, 2, 3, 4, 5])
    expect((await log.read(taskId, 2))[0]).toEqual({ generation: 3, event: chunk(big) })
  })

  test('waiting ends at once if there are newer events', async () => {
    const log = await openForTest(open)
    const taskId = await createTask(log, {}, status('working'))
    await log.wait(taskId, 1, never)
    await log.wait(taskId, 0, never)
  })

  test('waiting ends when an event is appended to the task', async () => {
    const log = await openForTest(open)
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
  })

  test('a reader can wait for a task that does not exist yet', async () => {
    const log = await openForTest(open)
    const task = newTask()
    const waiting = log.wait(task.taskId, 0, never)
    await log.create(task, [message()], { lease: { holder: 'test', ttl: 1_000 } })
    await waiting
  })

  test('waiting ends when the signal aborts or is already aborted', async () => {
    const log = await openForTest(open)
    const taskId = await createTask(log)
    const leaving = new AbortController()
    const waiting = log.wait(taskId, 1, leaving.signal)
    leaving.abort()
    await waiting
    await log.wait(taskId, 1, leaving.signal)
    await log.wait('unknown', 0, leaving.signal)
  })

  test('a thousand waiting readers leave no listeners on their signal', async () => {
    const log = await openForTest(open)
    const taskId = await createTask(log)
    const leaving = new AbortController()
    const wait = () => Promise.all(upTo(1_000).map(() => log.wait(taskId, 1, leaving.signal)))

    const woken = wait()
    await log.append(taskId, 1, [chunk('x')], { fence: 1 })
    await woken
    expect(getEventListeners(leaving.signal, 'abort')).toHaveLength(0)

    const aborted = Promise.all(upTo(1_000).map(() => log.wait(taskId, 2, leaving.signal)))
    leaving.abort()
    await aborted
    expect(getEventListeners(leaving.signal, 'abort')).toHaveLength(0)
  })

  test('only the newest snapshot is stored, and only for an existing task', async () => {
    const log = await openForTest(open)
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
  })
}
