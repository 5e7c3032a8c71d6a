import { ownerOf } from '../../../core/protocol/model.ts'
import type { ListCursor, TaskLog } from '../../../core/tasks/log.ts'
import type { LogWithOperator, MinuteSummary, OperatorLog, OperatorQuery } from '../../../core/tasks/operator-log.ts'
import { expect } from '../expect.ts'
import { operatorStateTests, valuesOf } from '../operator-state.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import { chunk, createTask, lease, message, newTask, reply, status } from './fixtures.ts'

/** What operators read. Every log that has an `operator` behaves like this. */
export const operatorLogTests: readonly StoreTest<TaskLog>[] = [
  operatorTest(
    'an operator sees tasks and exchanges of all owners, the last change first',
    async ({ log, operator }) => {
      const working = await createTask(log, { owner: 'alice' }, status('working', 1_000))
      const failed = await createTask(log, { owner: 'bob' }, status('failed', 3_000, 'no'))
      const answered = await createTask(log, { owner: 'carol' }, reply)
      expect(await idsOf(operator, {})).toEqual([answered, failed, working])
      expect(await idsOf(operator, { phases: ['failed', 'working'] })).toEqual([failed, working])
      expect(await idsOf(operator, { phases: ['canceled'] })).toEqual([])
      const [row] = (await operator.tasks({ phases: ['failed'], limit: 10 })).tasks
      expect(row).toMatchObject({ owner: 'bob', phase: 'failed', generation: 2, changed: 3_000 })
      expect(row?.status?.message?.parts).toEqual([{ text: 'no' }])
      expect(await operator.task(failed)).toEqual(row)
      expect(await operator.task('missing')).toBeUndefined()
    },
  ),
  operatorTest(
    'the trace of a task is stored with its events, and its size in snapshots',
    async ({ log, operator }) => {
      const entry = { type: 'tool', name: 'add', at: 1_000, duration: 5, input: '{"n":1}' } as const
      const traceChunk = { entries: [entry], total: { entries: 1, bytes: 80 } }
      const taskId = await createTask(log, {}, status('working'), { ...status('completed'), traceChunk })
      const [, , last] = await operator.events(taskId, 0, 10)
      expect(last?.event.traceChunk).toEqual(traceChunk)
      expect((await log.read(taskId, 2))[0]?.event.traceChunk).toEqual(traceChunk)
      const head = await log.head(taskId)
      if (!head) throw new Error('no task')
      const { contextId, owner } = head
      const traceSize = { entries: 1, bytes: 80 }
      await log.keepSnapshot({ taskId, contextId, owner, generation: 3, artifacts: [], history: [], traceSize })
      expect((await log.snapshot(taskId))?.traceSize).toEqual(traceSize)
    },
  ),
  operatorTest('filters combine, and a search finds parts of ids and owners', async ({ log, operator }) => {
    const owner = ownerOf({ id: 'al%ce', tenant: 'acme' })
    const hers = await createTask(log, { owner, contextId: 'order-17' }, status('working', 2_000))
    const his = await createTask(log, { owner: 'bob', contextId: 'order-18' }, status('working', 1_000))
    expect(await idsOf(operator, { principal: 'al%ce' })).toEqual([hers])
    expect(await idsOf(operator, { principal: 'ce' })).toEqual([])
    expect(await idsOf(operator, { contextId: 'order-18' })).toEqual([his])
    expect(await idsOf(operator, { search: 'order-1' })).toEqual([hers, his])
    expect(await idsOf(operator, { search: hers.slice(4, 20) })).toEqual([hers])
    expect(await idsOf(operator, { search: 'l%c' })).toEqual([hers])
    expect(await idsOf(operator, { search: '%' })).toEqual([hers])
    expect(await idsOf(operator, { search: "'; DROP TABLE tasks" })).toEqual([])
    expect(await idsOf(operator, { changedSince: 1_500 })).toEqual([hers])
    expect(await idsOf(operator, { changedBefore: 2_000 })).toEqual([his])
    const operated = ownerOf({ id: 'olga', tenant: 'acme', isOperator: true })
    const hosted = await createTask(log, { owner: operated, contextId: 'x' }, status('working', 500))
    expect(await idsOf(operator, { tenant: 'acme' })).toEqual([hers, hosted])
    expect(await idsOf(operator, { tenant: 'acm' })).toEqual([])
    expect(await idsOf(operator, { search: 'order', principal: 'bob', phases: ['completed'] })).toEqual([])
  }),
  operatorTest(
    'a search finds the skill and the text of the first message, and nothing else in it',
    async ({ log, operator }) => {
      const create = async (text: string, metadata = {}) => {
        const opening = message()
        const task = newTask({})
        const parts = [{ text: 'Hello.' }, { text }]
        await log.create(
          task,
          [{ ...opening, message: { ...opening.message, parts, metadata } }, status('completed')],
          {
            lease,
          },
        )
        return task.taskId
      }
      const invoice = await create('Pay the "Größe" invoice: 100% of 5_000 (net)\nand \\ that [a.b]*')
      const skilled = await create('nothing', { skillId: 'translate-text' })
      const found = (search: string) => idsOf(operator, { search })
      expect(await found('pay THE "gr')).toEqual([invoice])
      expect(await found('Größe')).toEqual([invoice])
      expect(await found('100% of 5_000 (net)\nand \\ that [a.b]*')).toEqual([invoice])
      expect(await found('100_')).toEqual([])
      expect(await found('5.000')).toEqual([])
      expect(await found('a!b')).toEqual([])
      expect(await found('translate-t')).toEqual([skilled])
      expect(await found('nothing')).toEqual([skilled])
      for (const key of ['parts', 'messageId', '"text"', 'metadata']) expect(await found(key)).toEqual([])
      const pages = await operator.tasks({ search: 'hello.', limit: 1 })
      expect(pages.total).toBe(2)
      const rest = await operator.tasks({ search: 'hello.', limit: 1, ...(pages.next && { cursor: pages.next }) })
      expect([...pages.tasks, ...rest.tasks].map(({ taskId }) => taskId).sort()).toEqual([invoice, skilled].sort())
      expect(rest.next).toBeUndefined()
    },
  ),
  operatorTest('pages cover all matches once, and the total counts them', async ({ log, operator }) => {
    const states = ['working', 'completed', 'failed'] as const
    const ids: string[] = []
    for (let at = 0; at < 23; at++) {
      // Several tasks change in the same millisecond.
      ids.push(await createTask(log, {}, status(states[at % 3] ?? 'working', 1_000 + Math.floor(at / 4))))
    }
    const listed: string[] = []
    let cursor: ListCursor | undefined
    do {
      const page = await operator.tasks({ limit: 5, ...(cursor && { cursor }) })
      expect(page.total).toBe(23)
      listed.push(...page.tasks.map(({ taskId }) => taskId))
      cursor = page.next
    } while (cursor)
    expect(listed).toHaveLength(23)
    expect(new Set(listed)).toEqual(new Set(ids))
  }),
  operatorTest('a task has the skill that its first message names', async ({ log, operator }) => {
    const opening = message()
    const named = newTask()
    const withSkill = { ...opening, message: { ...opening.message, metadata: { skillId: 'translate' } } }
    await log.create(named, [withSkill], { lease })
    const plain = await createTask(log)
    expect((await operator.task(named.taskId))?.skill).toBe('translate')
    expect((await operator.task(plain))?.skill).toBeUndefined()
    expect(await idsOf(operator, { skill: 'translate' })).toEqual([named.taskId])
  }),
  operatorTest('a working task is stuck once no process holds its lease', async ({ log, operator }) => {
    const alive = await createTask(log, {}, status('working'))
    const released = await createTask(log, {}, status('working'))
    const waiting = await createTask(log, {}, status('input-required'))
    const later = await createTask(log, {}, status('working'))
    const held = await operator.task(alive)
    expect(held?.lease).toMatchObject({ holder: 'test' })
    expect((held?.lease?.expires ?? 0) - Date.now()).toBeGreaterThan(30_000)
    await log.release(released, 1, 2)
    await log.release(waiting, 1, 2)
    await log.release(later, 1, 2, Date.now() + 60_000)
    expect(await idsOf(operator, { isStuck: true })).toEqual([released])
    expect((await operator.task(released))?.lease).toBeUndefined()
    const counts = await operator.counts()
    expect(counts).toMatchObject({ stuck: 1, leases: 1, phases: { working: 3, 'input-required': 1 } })
    expect(counts.bytes).toBeGreaterThan(0)
  }),
  operatorTest('events are read with the time at which they were stored', async ({ log, operator }) => {
    const before = Date.now() - 2_000
    const taskId = await createTask(log, {}, status('working'))
    await log.append(taskId, 2, [chunk('a'), chunk('b'), chunk('c')], { fence: 1 })
    const events = await operator.events(taskId, 0, 100)
    expect(events.map(({ generation }) => generation)).toEqual([1, 2, 3, 4, 5])
    expect(events.map(({ event }) => event.type)).toEqual(['message', 'status', 'artifact', 'artifact', 'artifact'])
    for (const { at = 0 } of events) expect(Math.abs(at - before)).toBeLessThan(60_000)
    expect((await operator.events(taskId, 3, 1)).map(({ generation }) => generation)).toEqual([4])
    expect(await operator.events(taskId, 5, 10)).toEqual([])
    expect(await operator.events('missing', 0, 10)).toEqual([])
  }),
  operatorTest('the activity of a phase is read in the order of changes', async ({ log, operator }) => {
    for (const time of [3_000, 1_000, 2_000, 2_000]) await createTask(log, {}, status('completed', time))
    const first = await operator.activity('completed', { changed: 0, key: 0 }, 2)
    expect(first.map(({ changed }) => changed)).toEqual([1_000, 2_000])
    const last = first.at(-1) ?? { changed: 0, key: 0 }
    const rest = await operator.activity('completed', last, 10)
    expect(rest.map(({ changed }) => changed)).toEqual([2_000, 3_000])
    expect(await operator.activity('failed', { changed: 0, key: 0 }, 10)).toEqual([])
  }),
  operatorTest('the first summary of a minute is kept, and old minutes are removed', async ({ operator }) => {
    const summary = (minute: number, started: number): MinuteSummary => ({
      minute,
      started,
      completed: 1,
      failed: 0,
      canceled: 0,
      durations: { 12: 1 },
    })
    await operator.keepMinutes([summary(60_000, 1), summary(120_000, 2)], 0)
    await operator.keepMinutes([summary(120_000, 9), summary(180_000, 3)], 120_000)
    expect(await operator.minutes(0)).toEqual([summary(120_000, 2), summary(180_000, 3)])
    expect(await operator.minutes(150_000)).toEqual([summary(180_000, 3)])
    await operator.keepMinutes([], 200_000)
    expect(await operator.minutes(0)).toEqual([])
  }),
  operatorTest('log lines belong to the content of their task, and are removed with it', async ({ log, operator }) => {
    const { records } = operator
    const erased = await createTask(log, { owner: 'ada' }, status('completed', 1_000))
    const expired = await createTask(log, { owner: 'bob' }, status('completed', 1_000))
    const kept = await createTask(log, { owner: 'bob' }, status('working'))
    const store = async () => {
      const lines = [erased, expired, kept, 'missing'].map((list) => ({ list, at: Date.now(), value: list }))
      await records.append('log', lines, 10)
    }
    const stored = async () => valuesOf(await records.read('log', { limit: 10 }))
    await store()
    expect(await stored()).toEqual([erased, expired, kept])
    await log.erase({ owner: 'ada' }, 10)
    expect(await stored()).toEqual([expired, kept])
    await log.expire(2_000, 10)
    expect(await stored()).toEqual([kept])
    await store()
    expect(await stored()).toEqual([kept, kept])
  }),

  ...operatorStateTests(operatorOf),
]

/** A test of a log and of what operators read from it. */
function operatorTest(
  name: string,
  work: (opened: { readonly log: TaskLog; readonly operator: OperatorLog }) => Promise<void>,
): StoreTest<TaskLog> {
  return storeTest(name, (log) => work({ log, operator: operatorOf(log) }))
}

function operatorOf(log: TaskLog & LogWithOperator): OperatorLog {
  if (!log.operator) throw new Error('This log has nothing for operators: it has no `operator`.')
  return log.operator
}

async function idsOf(operator: OperatorLog, query: Partial<OperatorQuery>): Promise<readonly string[]> {
  const { tasks } = await operator.tasks({ limit: 100, ...query })
  return tasks.map(({ taskId }) => taskId)
}
