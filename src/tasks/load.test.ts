import { expect, test } from 'vitest'
import type { TaskEvent } from '../protocol/events.ts'
import { loadFold } from './fold.ts'
import type { TaskLog } from './log.ts'
import { createMemoryLog } from './memory-log.ts'

const task = { taskId: 't', contextId: 'c', owner: 'alice' }

test('a short task is folded from its events, and no snapshot is kept', async () => {
  const log = await begun(100)
  expect((await loadFold(log, task)).generation).toBe(101)
  expect(await log.snapshot('t')).toBeUndefined()
})

test('who folds a long task leaves a snapshot, so that the next one reads little', async () => {
  const { log, read } = counting(await begun(2_000))
  const first = await loadFold(log, task)
  expect(read()).toBe(2_001)
  await append(log, 2_001, 10)
  const second = await loadFold(log, task)
  expect(read()).toBe(2_001 + 10)
  expect(second.generation).toBe(2_011)
  expect(second.task()?.artifacts[0]?.parts).toHaveLength((first.task()?.artifacts[0]?.parts.length ?? 0) + 10)
})

test('keeping snapshots of a growing task costs each event a constant share', async () => {
  const log = await begun(1)
  let kept = 0
  const watched: TaskLog = {
    ...log,
    async keepSnapshot(snapshot) {
      kept += snapshot.generation
      await log.keepSnapshot(snapshot)
    },
  }
  for (let generation = 2; generation < 20_000; generation += 100) {
    await append(watched, generation, 100)
    await loadFold(watched, task)
  }
  expect(kept).toBeLessThan(2 * 20_000)
})

async function begun(chunks: number): Promise<TaskLog> {
  const log = createMemoryLog()
  await log.create(task, [{ type: 'status', status: { state: 'working', timestamp: new Date().toISOString() } }], {
    lease: { holder: 'test', ttl: 60_000 },
  })
  await append(log, 1, chunks)
  return log
}

async function append(log: TaskLog, after: number, chunks: number): Promise<void> {
  const chunk: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text: 'x' }] }, append: true }
  await log.append(
    't',
    after,
    Array.from({ length: chunks }, () => chunk),
    { fence: 1 },
  )
}

/** The same log, counting the events that are read. */
function counting(log: TaskLog): { readonly log: TaskLog; readonly read: () => number } {
  let events = 0
  const watched: TaskLog = {
    ...log,
    async read(taskId, after) {
      const page = await log.read(taskId, after)
      events += page.length
      return page
    },
  }
  return { log: watched, read: () => events }
}
