import { defined } from '../../../core/base/json.ts'
import { ownerOf, type TaskState } from '../../../core/protocol/model.ts'
import type { HeadPage, ListCursor, ListQuery, TaskHead, TaskLog, VisibleOwners } from '../../../core/tasks/log.ts'
import { anyNumber, expect } from '../expect.ts'
import { type StoreTest, storeTest } from '../store-test.ts'
import { chunk, createTask, reply, status } from './fixtures.ts'

const states: readonly TaskState[] = ['working', 'completed']

export const listingTests: readonly StoreTest<TaskLog>[] = [
  storeTest('the task whose status changed last comes first', async (log) => {
    const old = await createTask(log, {}, status('working', 1_000))
    const recent = await createTask(log, {}, status('working', 3_000))
    const revived = await createTask(log, {}, status('working', 500))
    await log.append(revived, 2, [chunk('no change of status')], { fence: 1 })
    expect(await listedIds(log)).toEqual([recent, old, revived])
    await log.append(revived, 3, [status('completed', 4_000)], { fence: 1 })
    expect(await listedIds(log)).toEqual([revived, recent, old])
  }),
  storeTest('an exchange is listed from when it becomes a task until it expires', async (log) => {
    const taskId = await createTask(log)
    await createTask(log, {}, reply)
    expect(await log.list({ owner: 'alice', limit: 10 })).toEqual({ heads: [], total: 0, next: undefined })
    await log.append(taskId, 1, [status('completed')], { fence: 1 })
    expect((await log.list({ owner: 'alice', limit: 10 })).heads).toEqual([
      { ...(await log.head(taskId)), key: anyNumber },
    ])
    await log.expire(2_000, 10)
    expect(await log.list({ owner: 'alice', limit: 10 })).toEqual({ heads: [], total: 0, next: undefined })
  }),
  storeTest('an owner does not see the tasks of other owners', async (log) => {
    const hers = await createTask(log, { owner: 'alice' }, status('working'))
    const his = await createTask(log, { owner: 'bob' }, status('working'))
    expect(await listedIds(log, { owner: 'alice' })).toEqual([hers])
    expect(await listedIds(log, { owner: 'bob' })).toEqual([his])
    expect(await listedIds(log, { owner: 'ALICE' })).toEqual([])
  }),
  storeTest('a scope shows the tasks of its owner and of the owners that a policy adds', async (log) => {
    const [acme, other] = [crypto.randomUUID(), crypto.randomUUID()]
    const of = (tenant: string, id: string) => ownerOf({ id, tenant })
    const hers = await createTask(log, { owner: of(acme, 'alice') }, status('working', 4_000))
    const his = await createTask(log, { owner: of(acme, 'bob') }, status('working', 3_000))
    const alien = await createTask(log, { owner: of(`${acme}2`, 'bob') }, status('working', 2_000))
    const plain = await createTask(log, { owner: other }, status('working', 1_000))
    const owner = of(acme, 'alice')
    const scopes: readonly (readonly [VisibleOwners | undefined, readonly string[]])[] = [
      [undefined, [hers]],
      [{}, [hers]],
      [{ owners: [other] }, [hers, plain]],
      [{ tenants: [acme] }, [hers, his]],
      [{ tenants: [acme, `${acme}2`], owners: [other, 'unknown'] }, [hers, his, alien, plain]],
    ]
    for (const [also, expected] of scopes) {
      expect(await listedIds(log, { owner, also })).toEqual(expected)
      expect((await log.list({ owner, also, contextId: 'context', limit: 1 })).total).toBe(expected.length)
      for (const id of [hers, his, alien, plain]) {
        expect((await log.head(id, { owner, also }))?.taskId).toBe(expected.includes(id) ? id : undefined)
      }
    }
    const everyone = await listedIds(log, { owner: 'unknown', also: 'everyone' })
    expect([hers, his, alien, plain].filter((id) => !everyone.includes(id))).toEqual([])
    expect(await log.head(hers, { owner: 'unknown', also: 'everyone' })).toEqual(await log.head(hers))
  }),
  storeTest('filters are combined, and `changedSince` is inclusive', async (log) => {
    const match = await createTask(log, { contextId: 'c' }, status('working', 2_000))
    await createTask(log, { contextId: 'other' }, status('working', 2_000))
    await createTask(log, { contextId: 'c' }, status('completed', 2_000))
    await createTask(log, { contextId: 'c' }, status('working', 1_999))
    const query = { owner: 'alice', contextId: 'c', phase: 'working', changedSince: 2_000, limit: 10 } as const
    const { heads, total } = await log.list(query)
    expect(heads.map(({ taskId }) => taskId)).toEqual([match])
    expect(total).toBe(1)
    expect((await log.list({ owner: 'alice', limit: 1 })).total).toBe(4)
  }),
  storeTest('pages neither skip nor repeat tasks, even with equal times', async (log) => {
    const choose = createChoice()
    for (let round = 0; round < 60; round++) {
      const samples = Array.from({ length: choose(20) }, () => ({
        contextId: `c${choose(2)}`,
        state: states[choose(2)] ?? 'working',
        time: choose(3) * 1_000,
      }))
      const filter = defined({
        contextId: choose(2) ? `c${choose(2)}` : undefined,
        phase: choose(2) ? states[choose(2)] : undefined,
        changedSince: choose(2) ? choose(3) * 1_000 + choose(2) : undefined,
      })
      const limit = choose(7) + 1
      const owner = crypto.randomUUID()
      const ids = await Promise.all(
        samples.map(({ contextId, state, time }) => createTask(log, { owner, contextId }, status(state, time))),
      )
      const expected = samples
        .map((sample, index) => ({ ...sample, taskId: ids[index], index }))
        .filter(({ contextId }) => contextId === (filter.contextId ?? contextId))
        .filter(({ state }) => state === (filter.phase ?? state))
        .filter(({ time }) => time >= (filter.changedSince ?? 0))
        .sort((a, b) => b.time - a.time || b.index - a.index)
      const pages = await listPages(log, { owner, ...filter, limit })
      expect(pages.flatMap(({ heads }) => heads).map(({ taskId }) => taskId)).toEqual(
        expected.map(({ taskId }) => taskId),
      )
      for (const { total } of pages) expect(total).toBe(expected.length)
      for (const { heads } of pages.slice(0, -1)) expect(heads).toHaveLength(limit)
    }
  }),
  storeTest('totals stay exact while tasks are sent, canceled, expired and erased at once', async (log) => {
    await expectExactTotals([log])
  }),
  storeTest('unchanged tasks are listed exactly once, although others change between pages', async (log) => {
    const taskIds = await Promise.all(Array.from({ length: 30 }, () => createTask(log, {}, status('working', 1_000))))
    const changing = taskIds.filter((_, index) => index % 3 === 0)
    const steady = taskIds.filter((_, index) => index % 3 !== 0)
    const seen: string[] = []
    await listPages(log, { owner: 'alice', limit: 4 }, async ({ heads }) => {
      seen.push(...heads.map(({ taskId }) => taskId))
      const taskId = changing.pop()
      if (taskId) await log.append(taskId, 2, [status('working', 2_000)], { fence: 1 })
      await createTask(log, {}, status('working', 2_000))
    })
    expect(seen.filter((taskId) => steady.includes(taskId)).sort()).toEqual([...steady].sort())
  }),
]

/**
 * Sends, ends, cancels, expires and erases tasks of a few owners at once, by any of the logs. Then the total of every list
 * must be the number of tasks on its pages.
 */
export async function expectExactTotals(logs: readonly [TaskLog, ...TaskLog[]]): Promise<void> {
  const owners = Array.from({ length: 3 }, () => crypto.randomUUID())
  const ends = ['completed', 'failed', 'canceled'] as const
  const pick = <T>(items: readonly T[], n: number) => items[n % items.length] as T

  async function live(n: number): Promise<void> {
    const [log, other, owner] = [pick(logs, n), pick(logs, n + 1), pick(owners, n)]
    const task = { owner, contextId: n % 7 === 0 ? 'erased' : 'kept' }
    if (n % 3 === 0) {
      await createTask(log, task, status('completed', n))
      return
    }
    const taskId = await createTask(log, task)
    await log.append(taskId, 1, [status('working', n)], { fence: 1 })
    if (n % 5 === 0) await other.append(taskId, 2, [status('input-required', n)], { fence: 1 })
    else await other.append(taskId, 2, [status(pick(ends, n), n)], { fence: 1 })
  }

  await Promise.all([
    ...Array.from({ length: 150 }, (_, n) => live(n)),
    ...logs.map(async (log) => {
      for (let n = 0; n < 10; n++) {
        await log.expire(75, 5)
        await log.forget(25, 5)
        for (const owner of owners) await log.erase({ owner, contextId: 'erased' }, 3)
      }
    }),
  ])
  for (const owner of owners) {
    for (const phase of [undefined, 'working', 'input-required', ...ends] as const) {
      const pages = await listPages(logs[0], defined({ owner, phase, limit: 20 }))
      const listed = pages.reduce((sum, { heads }) => sum + heads.length, 0)
      for (const { total } of pages) expect(total, `${phase}`).toBe(listed)
    }
  }
  const all = await listPages(logs[0], { owner: 'nobody', also: { owners }, limit: 50 })
  expect(all[0]?.total).toBe(all.reduce((sum, { heads }) => sum + heads.length, 0))
  expect(all[0]?.total).toBeGreaterThan(0)
  for (const owner of owners) while ((await logs[0].erase({ owner }, 100)).length > 0);
  expect((await logs[0].list({ owner: 'nobody', also: { owners }, limit: 1 })).total).toBe(0)
}

async function listedIds(log: TaskLog, query: Partial<ListQuery> = {}): Promise<readonly string[]> {
  const { heads } = await log.list({ owner: 'alice', limit: 100, ...query })
  return heads.map(({ taskId }: TaskHead) => taskId)
}

async function listPages(
  log: TaskLog,
  query: ListQuery,
  onPage: (page: HeadPage) => Promise<void> = async () => {},
): Promise<readonly HeadPage[]> {
  const pages: HeadPage[] = []
  let cursor: ListCursor | undefined
  do {
    const page: HeadPage = await log.list({ ...query, cursor })
    pages.push(page)
    await onPage(page)
    cursor = page.next
  } while (cursor)
  return pages
}

/** Chooses integers from 0 to below a limit: the same sequence in every run. */
function createChoice(): (limit: number) => number {
  let state = 1
  return (limit) => {
    state = (state * 48_271) % 2_147_483_647 // MINSTD
    return Math.floor((state / 2_147_483_647) * limit)
  }
}
