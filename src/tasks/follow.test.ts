import { expect, test } from 'vitest'
import type { StoredEvent, TaskEvent } from '../protocol/events.ts'
import { follow } from './follow.ts'
import type { TaskLog } from './log.ts'
import { createMemoryLog } from './memory-log.ts'

const task = { taskId: 't', contextId: 'c', owner: 'alice' }
const never = new AbortController().signal

test('what is stored comes first, then what is appended while reading, without gap or repeat', async () => {
  const log = await begun()
  await append(log, 300)
  const readers = [0, 0, 100, 301, 450].map((after) => collect(log, after, 1_000))
  // Let some of them wait before the first new event, and be in the middle of a page at others.
  for (const burst of [1, 1, 250, 3, 445]) {
    await append(log, burst)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const generations = (await Promise.all(readers)).map((events) => events.map(({ generation }) => generation))
  expect(generations).toEqual([0, 0, 100, 301, 450].map((after) => range(after + 1, 1_000)))
})

test('a reader that is slow gets everything and holds up nobody', async () => {
  const log = await begun()
  const slow = follow(log, 't', 0, never)
  await slow.next()
  await append(log, 999)
  expect((await collect(log, 0, 1_000)).length).toBe(1_000)
  expect((await slow.next()).value?.generation).toBe(2)
  await slow.return()
})

test('following ends when the signal aborts, also while waiting', async () => {
  const log = await begun()
  const leaving = new AbortController()
  const reading = (async () => {
    const seen: number[] = []
    for await (const { generation } of follow(log, 't', 0, leaving.signal)) seen.push(generation)
    return seen
  })()
  await append(log, 2)
  await new Promise((resolve) => setImmediate(resolve))
  leaving.abort()
  expect(await reading).toEqual([1, 2, 3])
})

test('nothing is read for a caller who has gone already', async () => {
  const events = follow(await begun(), 't', 0, AbortSignal.abort())
  expect(await events.next()).toEqual({ done: true, value: undefined })
})

async function begun(): Promise<TaskLog> {
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
