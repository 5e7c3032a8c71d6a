import { expect, test } from 'vitest'
import type { TaskEvent } from '../protocol/events.ts'
import { readLimit } from '../tasks/log.ts'
import { encodeBatch } from './event-rows.ts'
import { createRecentEvents, type RecentEvents } from './recent-events.ts'

test('what was kept is there beyond any generation it reaches back to', () => {
  const tails = createRecentEvents()
  keep(tails, 't', 0, 2)
  keep(tails, 't', 2, 1)
  expect(beyond(tails, 't', 0)).toEqual([1, 2, 3])
  expect(beyond(tails, 't', 2)).toEqual([3])
  expect(beyond(tails, 't', 3)).toEqual([])
  expect(beyond(tails, 't', 9)).toEqual([])
  expect(beyond(tails, 'unknown', 0)).toEqual([])
})

test('a tail begins anew after events that somebody else appended', () => {
  const tails = createRecentEvents()
  keep(tails, 't', 0, 2)
  keep(tails, 't', 5, 2)
  expect(beyond(tails, 't', 5)).toEqual([6, 7])
  expect(beyond(tails, 't', 2)).toEqual([])
  expect(beyond(tails, 't', 0)).toEqual([])
})

test('one page is not more than a read may answer', () => {
  const tails = createRecentEvents()
  keep(tails, 'many', 0, 300, 1)
  expect(beyond(tails, 'many', 0)).toHaveLength(readLimit.events)
  keep(tails, 'large', 0, 3, readLimit.bytes / 4)
  keep(tails, 'large', 3, 10, readLimit.bytes / 20)
  expect(beyond(tails, 'large', 3)).toHaveLength(10)
})

test('a long task keeps its end, and a single event that is too large is not kept', () => {
  const tails = createRecentEvents()
  for (let after = 0; after < 3_000; after += 10) keep(tails, 't', after, 10, 1_000)
  expect(beyond(tails, 't', 0)).toEqual([])
  expect(beyond(tails, 't', 2_980)).toHaveLength(20)
  keep(tails, 't', 3_000, 1, 60_000)
  keep(tails, 't', 3_001, 1, 60_000)
  expect(beyond(tails, 't', 3_001)).toEqual([3_002])
  expect(beyond(tails, 't', 2_999)).toEqual([])
  keep(tails, 't', 3_002, 1, 5_000_000)
  expect(beyond(tails, 't', 3_002)).toEqual([])
  keep(tails, 't', 3_003, 1)
  expect(beyond(tails, 't', 3_003)).toEqual([3_004])
})

test('the tasks that were not appended to for longest are given up first', () => {
  const tails = createRecentEvents()
  for (let index = 0; index < 41; index++) keep(tails, `t${index}`, 0, 1, 200_000)
  keep(tails, 't0', 1, 1)
  for (const taskId of ['t41', 't42']) keep(tails, taskId, 0, 1, 200_000)
  expect(beyond(tails, 't0', 1)).toEqual([2])
  expect(beyond(tails, 't1', 0)).toEqual([])
  expect(beyond(tails, 't2', 0)).toEqual([1])
  expect(beyond(tails, 't41', 0)).toEqual([1])
})

test('of tasks that have ended only the latest are kept', () => {
  const tails = createRecentEvents()
  const completed: TaskEvent = { type: 'status', status: { state: 'completed', timestamp: new Date().toISOString() } }
  for (let index = 0; index < 100; index++) tails.keep(`t${index}`, 0, encodeBatch([completed]))
  expect(beyond(tails, 't0', 0)).toEqual([])
  expect(beyond(tails, 't99', 0)).toEqual([1])
})

function keep(tails: RecentEvents, taskId: string, after: number, count: number, bytes = 10): void {
  const text = 'x'.repeat(bytes)
  const chunk: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] } }
  tails.keep(taskId, after, encodeBatch(Array.from({ length: count }, () => chunk)))
}

function beyond(tails: RecentEvents, taskId: string, generation: number): readonly number[] {
  return tails.beyond(taskId, generation).map((stored) => stored.generation)
}
