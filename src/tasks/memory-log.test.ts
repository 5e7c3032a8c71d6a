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

async function complete(log: TaskLog, taskId: string): Promise<void> {
  const claims = [{ key: taskId, digest: 'd' }]
  await log.create({ taskId, contextId: 'c', owner: 'alice' }, [{ type: 'cancel' }], { lease, claims })
  await log.append(taskId, 1, [done], { fence: 1 })
}
