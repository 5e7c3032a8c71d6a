import { expect, test } from 'vitest'
import type { TaskEvent } from '../protocol/events.ts'
import type { TaskLog } from './log.ts'
import { createMemoryLog } from './memory-log.ts'

const lease = { holder: 'test', ttl: 60_000 }
const done: TaskEvent = { type: 'status', status: { state: 'completed', timestamp: new Date().toISOString() } }

test('the oldest ended tasks become tombstones, and the oldest tombstones are removed', async () => {
  const log = createMemoryLog({ keepEnded: 2 })
  for (const taskId of ['1', '2', '3', '4', '5']) await complete(log, taskId)
  const phases = await Promise.all(['1', '2', '3', '4', '5'].map(async (taskId) => (await log.head(taskId))?.phase))
  expect(phases).toEqual([undefined, 'expired', 'expired', 'completed', 'completed'])
  expect(await log.read('3', 0)).toEqual([])
  expect(await log.claimed('alice', '1')).toBeUndefined()
  expect(await log.claimed('alice', '2')).toMatchObject({ taskId: '2' })
})

test('the oldest ended tasks become tombstones when all of them take too many bytes', async () => {
  const log = createMemoryLog({ keepBytes: 100_000 })
  const text = 'x'.repeat(10_000)
  const ids = Array.from({ length: 50 }, (_, n) => `${n}`)
  for (const taskId of ids) await complete(log, taskId, text)
  const phases = await Promise.all(ids.map(async (taskId) => (await log.head(taskId))?.phase))
  const kept = phases.filter((phase) => phase === 'completed')
  expect(kept.length).toBeGreaterThan(5)
  expect(kept.length).toBeLessThanOrEqual(10)
  // They are the last ones.
  expect(phases).toEqual([...Array.from({ length: 50 - kept.length }, () => 'expired'), ...kept])

  await log.erase({ owner: 'alice' }, 100)
  for (const taskId of ids.slice(0, 5)) await complete(log, taskId, text)
  expect(await log.read('0', 0)).toHaveLength(3)
})

test('a snapshot counts, and a task that is too large alone is kept until the next one ends', async () => {
  const log = createMemoryLog({ keepBytes: 100_000 })
  await complete(log, 'small')
  await complete(log, 'large', 'x'.repeat(500_000))
  expect((await log.head('small'))?.phase).toBe('expired')
  expect((await log.head('large'))?.phase).toBe('completed')
  await complete(log, 'next')
  expect((await log.head('large'))?.phase).toBe('expired')
  const artifacts = [{ artifactId: 'a', parts: [{ text: 'x'.repeat(500_000) }] }]
  await complete(log, 'last')
  await log.keepSnapshot({ taskId: 'last', contextId: 'c', owner: 'alice', generation: 2, artifacts, history: [] })
  expect((await log.head('next'))?.phase).toBe('expired')
  expect(await log.snapshot('last')).toBeDefined()
})

test('any number of tasks that have not ended is kept', async () => {
  const log = createMemoryLog({ keepEnded: 2 })
  for (let index = 0; index < 10; index++) {
    await log.create({ taskId: `${index}`, contextId: 'c', owner: 'alice' }, [{ type: 'cancel' }], { lease })
  }
  expect(await log.read('0', 0)).toHaveLength(1)
})

test('a writer that never pauses does not block timers', async () => {
  const log = createMemoryLog()
  await log.create({ taskId: 't', contextId: 'c', owner: 'alice' }, [{ type: 'cancel' }], { lease })
  let ticked = false
  setTimeout(() => {
    ticked = true
  }, 1)
  let generation = 1
  const giveUp = Date.now() + 2_000
  while (!ticked && Date.now() < giveUp) await log.append('t', generation++, [{ type: 'cancel' }], {})
  expect(ticked).toBe(true)
})

async function complete(log: TaskLog, taskId: string, text?: string): Promise<void> {
  const claims = [{ key: taskId, digest: 'd' }]
  await log.create({ taskId, contextId: 'c', owner: 'alice' }, [{ type: 'cancel' }], { lease, claims })
  const artifact = (content: string): TaskEvent => ({
    type: 'artifact',
    artifact: { artifactId: 'a', parts: [{ text: content }] },
  })
  await log.append(taskId, 1, text === undefined ? [done] : [artifact(text), done], { fence: 1 })
}
