import type { TaskEvent } from '../../../core/protocol/events.ts'
import { loadFold } from '../../../core/tasks/fold.ts'
import type { TaskLog } from '../../../core/tasks/log.ts'
import { revisionAt, withRevisions } from '../../../core/tasks/revisions.ts'
import { expect } from '../expect.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import { chunk, lease, message, newTask, readAll, status, step } from './fixtures.ts'

/** A last status whose message is the agent's answer: an artifact and a status for its readers. */
const answer: TaskEvent = {
  type: 'status',
  status: { ...status('completed', 2_000, 'done').status, isAnswer: true },
}

export const revisionsTests: readonly StoreTest<TaskLog>[] = [
  storeTest('every event is stored with the number of changes that callers see', async (log) => {
    const counting = withRevisions(log)
    const task = newTask()
    await counting.create(task, [message(), step, status('submitted')], { lease })
    await counting.append(task.taskId, 3, [status('working'), chunk('one')], { fence: 1 })
    await counting.append(task.taskId, 5, [message('more')], {})
    await counting.append(task.taskId, 6, [status('working'), chunk('two'), answer], { fence: 1 })
    const stored = [0, 0, 1, 2, 3, 3, 4, 5, 7]
    expect(await revisionsIn(log, task.taskId)).toEqual(stored)
    expect(await revisionsIn(counting, task.taskId)).toEqual(stored)
    expect((await loadFold(counting, task)).task()).toMatchObject({ generation: 9, revision: 7 })
  }),
  storeTest('an append to a log that another process has written continues its count', async (log) => {
    const task = newTask()
    await withRevisions(log).create(task, [message(), status('submitted'), status('working')], { lease })
    const other = withRevisions(log)
    await other.append(task.taskId, 3, [chunk('one')], { fence: 1 })
    // Refused, so it must not change what the process knows.
    expect(await other.append(task.taskId, 3, [chunk('late')], { fence: 1 })).toMatchObject({ type: 'behind' })
    await withRevisions(log).append(task.taskId, 4, [message('more'), step], { fence: 1 })
    await other.append(task.taskId, 6, [chunk('two')], { fence: 1 })
    expect(await revisionsIn(log, task.taskId)).toEqual([0, 1, 2, 3, 3, 3, 4])
  }),
  storeTest('events from before are counted from the start of their task, and not written again', async (log) => {
    const task = newTask()
    await log.create(task, [message(), status('submitted'), status('working')], { lease })
    for (let after = 3; after < 603; after += 100) await log.append(task.taskId, after, chunks(100), { fence: 1 })
    expect(await revisionAt(withRevisions(log), task.taskId, 500)).toBe(499)
    expect((await withRevisions(log).read(task.taskId, 402))[0]?.event.revision).toBe(402)
    const counting = withRevisions(log)
    expect((await loadFold(counting, task)).task()).toMatchObject({ generation: 603, revision: 602 })
    await counting.append(task.taskId, 603, [chunk('new'), answer], { fence: 1 })
    const stored = await revisionsIn(log, task.taskId)
    expect(stored.slice(0, 603).every((revision) => revision === undefined)).toBe(true)
    expect(stored.slice(603)).toEqual([603, 605])
    expect(await revisionAt(withRevisions(log), task.taskId, 605)).toBe(605)
  }),
  storeTest('a snapshot from before gets the revision of its events', async (log) => {
    const task = newTask()
    await log.create(task, [message(), status('submitted'), status('working')], { lease })
    await log.append(task.taskId, 3, chunks(50), { fence: 1 })
    const { revision: _, ...snapshot } = (await loadFold(log, task)).snapshot()
    await log.keepSnapshot(snapshot)
    await log.append(task.taskId, 53, [chunk('after')], { fence: 1 })
    expect(await withRevisions(log).snapshot(task.taskId)).toMatchObject({ generation: 53, revision: 52 })
    expect((await loadFold(withRevisions(log), task)).task()?.revision).toBe(53)
  }),
]

function chunks(count: number): readonly TaskEvent[] {
  return Array.from({ length: count }, () => chunk('x'))
}

async function revisionsIn(log: TaskLog, taskId: string): Promise<readonly (number | undefined)[]> {
  return (await readAll(log, taskId)).map(({ event }) => event.revision)
}
