import { expect, test } from 'vitest'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { readLimit } from '../../core/tasks/log.ts'
import { createRecentEvents, encodeBatch, type RecentEvents } from './event-batches.ts'

test('cached events can be read after any generation that they reach back to', () => {
  const recent = createRecentEvents()
  add(recent, 't', 0, 2)
  add(recent, 't', 2, 1)
  expect(readAfter(recent, 't', 0)).toEqual([1, 2, 3])
  expect(readAfter(recent, 't', 2)).toEqual([3])
  expect(readAfter(recent, 't', 3)).toEqual([])
  expect(readAfter(recent, 't', 9)).toEqual([])
  expect(readAfter(recent, 'unknown', 0)).toEqual([])
})

test('the cache of a task starts over after events that another process appended', () => {
  const recent = createRecentEvents()
  add(recent, 't', 0, 2)
  add(recent, 't', 5, 2)
  expect(readAfter(recent, 't', 5)).toEqual([6, 7])
  expect(readAfter(recent, 't', 2)).toEqual([])
  expect(readAfter(recent, 't', 0)).toEqual([])
})

test('a page is no larger than one read of the log', () => {
  const recent = createRecentEvents()
  add(recent, 'many', 0, 300, 1)
  expect(readAfter(recent, 'many', 0)).toHaveLength(readLimit.events)
  add(recent, 'large', 0, 3, readLimit.bytes / 4)
  add(recent, 'large', 3, 10, readLimit.bytes / 20)
  expect(readAfter(recent, 'large', 3)).toHaveLength(10)
})

test('the last events of a long task are cached, and an event that is too large is not', () => {
  const recent = createRecentEvents()
  for (let after = 0; after < 3_000; after += 10) add(recent, 't', after, 10, 1_000)
  expect(readAfter(recent, 't', 0)).toEqual([])
  expect(readAfter(recent, 't', 2_980)).toHaveLength(20)
  add(recent, 't', 3_000, 1, 60_000)
  add(recent, 't', 3_001, 1, 60_000)
  expect(readAfter(recent, 't', 3_001)).toEqual([3_002])
  expect(readAfter(recent, 't', 2_999)).toEqual([])
  add(recent, 't', 3_002, 1, 5_000_000)
  expect(readAfter(recent, 't', 3_002)).toEqual([])
  add(recent, 't', 3_003, 1)
  expect(readAfter(recent, 't', 3_003)).toEqual([3_004])
})

test('the least recently appended tasks are dropped first', () => {
  const recent = createRecentEvents()
  for (let index = 0; index < 41; index++) add(recent, `t${index}`, 0, 1, 200_000)
  add(recent, 't0', 1, 1)
  for (const taskId of ['t41', 't42']) add(recent, taskId, 0, 1, 200_000)
  expect(readAfter(recent, 't0', 1)).toEqual([2])
  expect(readAfter(recent, 't1', 0)).toEqual([])
  expect(readAfter(recent, 't2', 0)).toEqual([1])
  expect(readAfter(recent, 't41', 0)).toEqual([1])
})

test('only the latest of the ended tasks are cached', () => {
  const recent = createRecentEvents()
  const completed: TaskEvent = { type: 'status', status: { state: 'completed', timestamp: new Date().toISOString() } }
  for (let index = 0; index < 100; index++) recent.add(`t${index}`, 0, encodeBatch([completed]))
  expect(readAfter(recent, 't0', 0)).toEqual([])
  expect(readAfter(recent, 't99', 0)).toEqual([1])
})

function add(recent: RecentEvents, taskId: string, after: number, count: number, bytes = 10): void {
  const text = 'x'.repeat(bytes)
  const chunk: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] } }
  recent.add(taskId, after, encodeBatch(Array.from({ length: count }, () => chunk)))
}

function readAfter(recent: RecentEvents, taskId: string, generation: number): readonly number[] {
  return recent.readAfter(taskId, generation).map((stored) => stored.generation)
}
