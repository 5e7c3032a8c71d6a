import type { TaskLog } from '../../../core/tasks/log.ts'
import { expect } from '../expect.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import { createTask, lease, message, newTask, readGenerations, upTo } from './fixtures.ts'

const claim = (key: string, digest = 'd') => ({ key, digest })

export const claimsTests: readonly StoreTest<TaskLog>[] = [
  storeTest('a claimed key returns what was stored under it, for any digest', async (log) => {
    const first = newTask()
    await log.create(first, [message()], { lease, claims: [claim('k')] })
    const claimed = { digest: 'd', taskId: first.taskId, generation: 1 }
    expect(await log.claimed('alice', 'k')).toEqual(claimed)
    const second = newTask()
    const created = await log.create(second, [message()], { lease, claims: [claim('k', 'other')] })
    expect(created).toEqual({ type: 'known', claimed })
    expect(await log.head(second.taskId)).toBeUndefined()
  }),
  storeTest('an append claims the generation of its first event', async (log) => {
    const taskId = await createTask(log)
    await log.append(taskId, 1, [message('next'), { type: 'cancel' }], { claims: [claim('k')] })
    const claimed = { digest: 'd', taskId, generation: 2 }
    expect(await log.claimed('alice', 'k')).toEqual(claimed)
    // A repeated message is known before it is behind: its sender cannot know the newest generation.
    expect(await log.append(taskId, 1, [message('next')], { claims: [claim('k')] })).toEqual({ type: 'known', claimed })
    expect(await readGenerations(log, taskId)).toEqual([1, 2, 3])
  }),
  storeTest('several keys are claimed together or not at all', async (log) => {
    const taskId = await createTask(log)
    await log.append(taskId, 1, [message()], { claims: [claim('taken')] })
    const both = { claims: [claim('free'), claim('taken')] }
    expect(await log.append(taskId, 2, [message()], both)).toMatchObject({ type: 'known' })
    expect(await log.create(newTask(), [message()], { lease, ...both })).toMatchObject({ type: 'known' })
    expect(await log.claimed('alice', 'free')).toBeUndefined()
  }),
  storeTest('a refused append claims nothing', async (log) => {
    const taskId = await createTask(log)
    expect(await log.append(taskId, 7, [message()], { claims: [claim('k')] })).toMatchObject({ type: 'behind' })
    expect(await log.append(taskId, 1, [message()], { fence: 7, claims: [claim('k')] })).toEqual({ type: 'fenced' })
    expect(await log.append('unknown', 0, [message()], { claims: [claim('k')] })).toEqual({ type: 'gone' })
    expect(await log.claimed('alice', 'k')).toBeUndefined()
  }),
  storeTest("a key belongs to the task's owner", async (log) => {
    await log.create(newTask({ owner: 'alice' }), [message()], { lease, claims: [claim('k')] })
    const created = await log.create(newTask({ owner: 'bob' }), [message()], { lease, claims: [claim('k')] })
    expect(created).toMatchObject({ type: 'stored' })
    expect(await log.claimed('alice', 'k')).not.toEqual(await log.claimed('bob', 'k'))
    expect(await log.claimed('carol', 'k')).toBeUndefined()
  }),
  storeTest('exactly one of several racing claims gets a key', async (log) => {
    const outcomes = await Promise.all(
      upTo(20).map(() => log.create(newTask(), [message()], { lease, claims: [claim('k')] })),
    )
    expect(outcomes.filter(({ type }) => type === 'stored')).toHaveLength(1)
    expect(outcomes.filter(({ type }) => type === 'known')).toHaveLength(19)
  }),
]
