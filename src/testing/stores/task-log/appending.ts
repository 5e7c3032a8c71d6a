import type { Appended, TaskLog } from '../../../core/tasks/log.ts'
import { expect, expectFailure } from '../expect.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import {
  chunk,
  createTask,
  lease,
  message,
  newTask,
  readAll,
  readGenerations,
  reply,
  status,
  step,
  upTo,
} from './fixtures.ts'

export const appendingTests: readonly StoreTest<TaskLog>[] = [
  storeTest('events are numbered 1, 2, 3… without a gap, across create and appends', async (log) => {
    const task = newTask()
    const created = await log.create(task, [message(), status('working')], { lease })
    expect(created).toEqual({ type: 'stored', generation: 2, lease: { fence: 1 } })
    const appended = await log.append(task.taskId, 2, [chunk('a'), chunk('b'), chunk('c')], { fence: 1 })
    expect(appended).toEqual({ type: 'stored', generation: 5, lease: undefined })
    expect(await readAll(log, task.taskId)).toEqual(
      [message(), status('working'), chunk('a'), chunk('b'), chunk('c')].map((event, index) => ({
        generation: index + 1,
        event,
      })),
    )
  }),
  storeTest('a journal entry is stored as an event, and changes only the generation of the head', async (log) => {
    const taskId = await createTask(log, {}, step, status('input-required', 1_000, 'Which?'))
    await log.append(taskId, 3, [message('this')], {})
    const before = await log.head(taskId)
    expect(await log.append(taskId, 4, [step], { fence: 1 })).toMatchObject({ type: 'stored', generation: 5 })
    expect(await log.head(taskId)).toEqual({ ...before, generation: 5 })
    expect((await readAll(log, taskId)).map(({ event }) => event)).toEqual([
      message(),
      step,
      status('input-required', 1_000, 'Which?'),
      message('this'),
      step,
    ])
    expect(await log.append(taskId, 5, [step], { fence: 7 })).toEqual({ type: 'fenced' })
  }),
  storeTest('an append that is behind returns the newest generation and stores nothing', async (log) => {
    const taskId = await createTask(log, {}, status('working'))
    for (const after of [0, 1, 3]) {
      expect(await log.append(taskId, after, [chunk('lost')], { fence: 1 })).toEqual({ type: 'behind', generation: 2 })
    }
    expect(await readGenerations(log, taskId)).toEqual([1, 2])
  }),
  storeTest('exactly one of several racing appends is stored, and completely', async (log) => {
    const taskId = await createTask(log)
    const outcomes = await Promise.all(
      upTo(40).map((writer) =>
        log.append(taskId, 1, [chunk(`${writer}a`), chunk(`${writer}b`), chunk(`${writer}c`)], { fence: 1 }),
      ),
    )
    const winner = outcomes.findIndex(({ type }) => type === 'stored') + 1
    expect(winner).toBeGreaterThan(0)
    expect(outcomes.filter(({ type }) => type === 'stored')).toHaveLength(1)
    expect(outcomes.filter(({ type }) => type === 'behind')).toHaveLength(39)
    expect((await readAll(log, taskId)).map(({ event }) => event)).toEqual([
      message(),
      chunk(`${winner}a`),
      chunk(`${winner}b`),
      chunk(`${winner}c`),
    ])
  }),
  storeTest('writers that retry until they are stored neither lose nor repeat an event', async (log) => {
    const taskId = await createTask(log)
    await Promise.all(
      upTo(8).map(async (writer) => {
        for (let number = 1, after = 1; number <= 10; ) {
          const appended: Appended = await log.append(taskId, after, [message(`${writer}:${number}`)], {})
          if (appended.type === 'stored') number++
          if (appended.type === 'stored' || appended.type === 'behind') after = appended.generation
        }
      }),
    )
    const events = await readAll(log, taskId)
    expect(events.map(({ generation }) => generation)).toEqual(upTo(81))
    const texts = events.slice(1).map(({ event }) => JSON.stringify(event))
    expect(new Set(texts).size).toBe(80)
  }),
  storeTest('a writer whose lease was taken over is fenced off and stores nothing', async (log) => {
    const task = newTask()
    await log.create(task, [message()], { lease: { ...lease, ttl: 0 } })
    expect(await log.append(task.taskId, 1, [status('working')], { fence: 1 })).toMatchObject({ type: 'stored' })
    expect(await log.acquire(task.taskId, lease)).toEqual({ fence: 2 })
    expect(await log.append(task.taskId, 2, [chunk('late')], { fence: 1 })).toEqual({ type: 'fenced' })
    // A lost lease is reported before a stale generation.
    expect(await log.append(task.taskId, 1, [chunk('late')], { fence: 1 })).toEqual({ type: 'fenced' })
    expect(await log.append(task.taskId, 2, [chunk('mine')], { fence: 2 })).toMatchObject({ type: 'stored' })
    expect(await readGenerations(log, task.taskId)).toEqual([1, 2, 3])
  }),
  storeTest("a caller's message and cancel request need no fence", async (log) => {
    const taskId = await createTask(log)
    expect(await log.append(taskId, 1, [message('more')], {})).toMatchObject({ type: 'stored', generation: 2 })
    expect(await log.append(taskId, 2, [{ type: 'cancel' }], {})).toMatchObject({ type: 'stored', generation: 3 })
  }),
  storeTest('nothing can be appended to a task that does not exist', async (log) => {
    expect(await log.append('unknown', 0, [message()], {})).toEqual({ type: 'gone' })
    expect(await log.head('unknown')).toBeUndefined()
    expect(await log.read('unknown', 0)).toEqual([])
  }),
  storeTest('a task id can be used only once', async (log) => {
    const taskId = await createTask(log)
    await expectFailure(log.create(newTask({ taskId }), [message('again')], { lease }), /exists already/)
    expect(await readAll(log, taskId)).toEqual([{ generation: 1, event: message() }])
  }),
  storeTest('the head contains the generation, the phase and the status of a task', async (log) => {
    const task = newTask()
    const before = Date.now()
    await log.create(task, [message()], { lease })
    const received = await log.head(task.taskId)
    expect(received).toMatchObject({ ...task, generation: 1, phase: 'received' })
    expect(received?.status).toBeUndefined()
    expect(received?.created).toBeGreaterThanOrEqual(before)
    expect(received?.changed).toBe(received?.created)

    await log.append(task.taskId, 1, [status('working', 5_000), chunk('a')], { fence: 1 })
    const working = await log.head(task.taskId)
    expect(working).toMatchObject({ generation: 3, phase: 'working', changed: 5_000, created: received?.created })
    expect(working?.status).toEqual(status('working', 5_000).status)

    await log.append(task.taskId, 3, [chunk('b')], { fence: 1 })
    expect(await log.head(task.taskId)).toEqual({ ...working, generation: 4 })
  }),
  storeTest('the message of a status leaves the head when a message answers it', async (log) => {
    const question = status('input-required', 1_000, 'Which one?')
    const taskId = await createTask(log, {}, question)
    await log.append(taskId, 2, [chunk('a')], { fence: 1 })
    expect((await log.head(taskId))?.status).toEqual(question.status)
    await log.append(taskId, 3, [message('this one')], {})
    expect((await log.head(taskId))?.status).toEqual(status('input-required', 1_000).status)
    await log.append(taskId, 4, [chunk('b')], { fence: 1 })
    expect((await log.head(taskId))?.status).toEqual(status('input-required', 1_000).status)
    await log.append(taskId, 5, [message('and'), question], { fence: 1 })
    expect((await log.head(taskId))?.status).toEqual(question.status)
  }),
  storeTest('the head contains the dialect of the last message that has one', async (log) => {
    const taskId = await createTask(log)
    expect((await log.head(taskId))?.dialect).toBeUndefined()
    await log.append(taskId, 1, [message('old', '0.3')], {})
    await log.append(taskId, 2, [message('new', '1.0'), { type: 'cancel' }], {})
    await log.append(taskId, 4, [message('from nowhere'), status('working')], { fence: 1 })
    expect((await log.head(taskId))?.dialect).toBe('1.0')
  }),
  storeTest('an answered exchange has ended without a status', async (log) => {
    const taskId = await createTask(log, {}, reply)
    const head = await log.head(taskId)
    expect(head).toMatchObject({ generation: 2, phase: 'answered' })
    expect(head?.status).toBeUndefined()
  }),
  storeTest('any string can be an id, an owner or a text', async (log) => {
    const odd = `'"%\\ \u0000 \u2028 é 😀`
    const task = newTask({ taskId: odd, contextId: `c${odd}`, owner: `o${odd}` })
    await log.create(task, [message(`${odd}\ud800`), status('working')], { lease, claims: [{ key: odd, digest: odd }] })
    expect(await log.head(odd)).toMatchObject(task)
    expect(await log.claimed(task.owner, odd)).toEqual({ digest: odd, taskId: odd, generation: 1 })
    expect((await log.list({ owner: task.owner, contextId: task.contextId, limit: 5 })).heads).toHaveLength(1)
    expect((await readAll(log, odd))[0]?.event).toEqual(message(`${odd}\ud800`))
  }),
]
