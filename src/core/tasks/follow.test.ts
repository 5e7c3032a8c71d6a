import { describe, expect, test } from 'vitest'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { createWakeups, follow } from './follow.ts'
import type { TaskLog } from './log.ts'
import { createMemoryLog } from './memory-log.ts'

describe('follow', () => {
  const task = { taskId: 't', contextId: 'c', owner: 'alice' }

  const never = new AbortController().signal

  async function createLog(): Promise<TaskLog> {
    const log = createMemoryLog()
    await log.create(task, [{ type: 'cancel' }], { lease: { holder: 'test', ttl: 60_000 } })
    return log
  }

  async function append(log: TaskLog, count: number): Promise<void> {
    const after = (await log.head('t'))?.generation ?? 0
    const events = Array.from({ length: count }, (): TaskEvent => ({ type: 'cancel' }))
    await log.append('t', after, events, {})
  }

  async function collect(log: TaskLog, after: number, last: number): Promise<readonly StoredEvent[]> {
    const seen: StoredEvent[] = []
    for await (const event of follow(log, 't', after, never)) {
      seen.push(event)
      if (event.generation === last) break
    }
    return seen
  }

  function range(first: number, last: number): readonly number[] {
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  }

  test('stored events come first and new ones follow, without gap or repeat', async () => {
    const log = await createLog()
    await append(log, 300)
    const readers = [0, 0, 100, 301, 450].map((after) => collect(log, after, 1_000))
    // Some readers wait before a new event, others are in the middle of a page.
    for (const burst of [1, 1, 250, 3, 445]) {
      await append(log, burst)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const generations = (await Promise.all(readers)).map((events) => events.map(({ generation }) => generation))
    expect(generations).toEqual([0, 0, 100, 301, 450].map((after) => range(after + 1, 1_000)))
  })

  test('a slow reader gets everything and does not slow down others', async () => {
    const log = await createLog()
    const slow = follow(log, 't', 0, never)
    await slow.next()
    await append(log, 999)
    expect((await collect(log, 0, 1_000)).length).toBe(1_000)
    expect((await slow.next()).value?.generation).toBe(2)
    await slow.return()
  })

  test('following ends when only the tombstone of the task is left', async () => {
    const log = await createLog()
    await append(log, 3)
    await log.append('t', 4, [{ type: 'reply', message: { messageId: 'm', role: 'agent', parts: [] } }], {})
    const late = follow(log, 't', 1, never)
    expect(await log.expire(Date.now() + 1_000, 10)).toBe(1)
    expect(await late.next()).toEqual({ done: true, value: undefined })
  })

  test('following ends when the signal aborts, even while waiting', async () => {
    const log = await createLog()
    const leaving = new AbortController()
    const generations = (async () => {
      const seen: number[] = []
      for await (const { generation } of follow(log, 't', 0, leaving.signal)) seen.push(generation)
      return seen
    })()
    await append(log, 2)
    await new Promise((resolve) => setImmediate(resolve))
    leaving.abort()
    expect(await generations).toEqual([1, 2, 3])
  })

  test('an aborted reader reads nothing', async () => {
    const events = follow(await createLog(), 't', 0, AbortSignal.abort())
    expect(await events.next()).toEqual({ done: true, value: undefined })
  })
})

describe('createWakeups', () => {
  const never = new AbortController().signal

  test('a wake reaches all readers of its task and no others', async () => {
    const wakeups = createWakeups()
    const waiting = [wakeups.wait('a', never), wakeups.wait('a', never)]
    void wakeups.wait('b', never)
    wakeups.wake('a')
    await Promise.all(waiting)
    expect(wakeups.size).toBe(1)
  })

  test('a wake without readers is not remembered', () => {
    const wakeups = createWakeups()
    wakeups.wake('a')
    void wakeups.wait('a', never)
    expect(wakeups.size).toBe(1)
  })

  test('an aborted reader is removed', async () => {
    const wakeups = createWakeups()
    const leaving = new AbortController()
    const waiting = Array.from({ length: 1_000 }, (_, index) => wakeups.wait(`${index % 10}`, leaving.signal))
    expect(wakeups.size).toBe(1_000)
    leaving.abort()
    await Promise.all(waiting)
    expect(wakeups.size).toBe(0)
    await wakeups.wait('a', leaving.signal)
    expect(wakeups.size).toBe(0)
  })

  test('a reader that is woken and then aborted counts once', async () => {
    const wakeups = createWakeups()
    const leaving = new AbortController()
    const waiting = wakeups.wait('a', leaving.signal)
    wakeups.wake('a')
    leaving.abort()
    await waiting
    expect(wakeups.size).toBe(0)
  })

  test('wakeAll wakes all readers', async () => {
    const wakeups = createWakeups()
    const waiting = ['a', 'b', 'c'].map((taskId) => wakeups.wait(taskId, never))
    wakeups.wakeAll()
    await Promise.all(waiting)
    expect(wakeups.size).toBe(0)
  })
})
