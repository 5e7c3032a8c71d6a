import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TaskLog } from '../../../src/tasks/log.ts'
import type { OpenLog, SharedStorage } from './fixtures.ts'
import { chunk, message, readAll, reply, status, step } from './fixtures.ts'
import { ModelLog } from './model-log.ts'

export function modelContract(open: OpenLog): void {
  test('whatever is done in whatever order, it answers as the naive log does', async () => {
    await assertLikeModel(fc.oneof(work, retention), async () => {
      const { log, cleanup } = await open()
      return { logs: [log], cleanup }
    })
  }, 60_000)
}

/** Retention is left out: what one has just removed the other may still know. */
export function sharedModelContract(createStorage: () => Promise<SharedStorage>): void {
  test('two that take turns in whatever order answer as one naive log does', async () => {
    await assertLikeModel(work, async () => {
      const storage = await createStorage()
      return { logs: [await storage.open(), await storage.open()], cleanup: () => storage.cleanup() }
    })
  }, 60_000)
}

interface OpenedLogs {
  readonly logs: readonly TaskLog[]
  readonly cleanup: () => Promise<void>
}

async function assertLikeModel(step: fc.Arbitrary<Step>, open: () => Promise<OpenedLogs>): Promise<void> {
  const turn = fc.tuple(step, fc.nat())
  const property = fc.asyncProperty(fc.array(turn, { maxLength: 40 }), async (turns) => {
    const { logs, cleanup } = await open()
    try {
      const model = new ModelLog()
      for (const [run, index] of turns) await run(logs[index % logs.length] as TaskLog, model)
      for (const log of logs) await compareAll(log, model)
    } finally {
      await cleanup()
    }
  })
  await fc.assert(property, { numRuns: 80 })
}

const tasks = [
  { taskId: 't1', contextId: 'c', owner: 'alice' },
  { taskId: 't2', contextId: 'c', owner: 'alice' },
  { taskId: 't3', contextId: 'c', owner: 'bob' },
] as const
const keys = ['k1', 'k2'] as const

const task = fc.constantFrom(...tasks)
const taskId = task.map((chosen) => chosen.taskId)
const ttl = fc.constantFrom(0, 60_000)
const lease = ttl.map((chosen) => ({ holder: 'test', ttl: chosen }))
const fence = fc.integer({ min: 1, max: 3 })
/** Mostly right about the newest generation, so that not every step ends in a refusal. */
const skew = fc.constantFrom(0, 0, 0, 0, -1, 1)
const moment = fc.constantFrom(1_000, 2_000)
const before = moment.map((chosen) => chosen + 500)
const claims = fc.array(fc.record({ key: fc.constantFrom(...keys), digest: fc.constantFrom('d', 'e') }), {
  maxLength: 1,
})
const progress = fc.oneof(
  fc.string().map(chunk),
  fc.constant(step),
  moment.map((at) => status('working', at)),
  moment.map((at) => status('input-required', at, 'a question')),
)
const end = moment.map((at) => status('completed', at, 'done'))
const agentEvents = fc.oneof(
  fc.array(progress, { minLength: 1, maxLength: 3 }),
  fc.tuple(fc.array(progress, { maxLength: 2 }), end).map(([first, last]) => [...first, last]),
)
const firstEvents = fc.oneof(
  fc.constant([message()]),
  fc.constant([message(), reply]),
  agentEvents.map((events) => [message(), ...events]),
)

type Step = (log: TaskLog, naive: ModelLog) => Promise<void>

/** A step that says what it does when it is part of a counterexample. */
function describeStep<T>(name: string, given: fc.Arbitrary<T>, take: (given: T) => Step): fc.Arbitrary<Step> {
  return given.map((chosen) =>
    Object.assign(take(chosen), { [fc.toStringMethod]: () => `${name} ${JSON.stringify(chosen)}` }),
  )
}

const create = describeStep(
  'create',
  fc.tuple(task, firstEvents, lease, claims),
  ([created, events, wanted, keyed]) => {
    const options = { lease: wanted, claims: keyed }
    return async (log, naive) => {
      const outcome = await log
        .create(created, events, options)
        .catch((error: Error) => (error.message.includes('exists already') ? 'exists' : Promise.reject(error)))
      expect(outcome).toEqual(naive.create(created, events, options))
    }
  },
)

const write = describeStep('write', fc.tuple(taskId, skew, agentEvents, fence), ([id, skewed, events, held]) => {
  return async (log, naive) => {
    if (naive.isEnded(id)) return // the rules forbid it, and who writes has checked them
    const after = naive.events(id).length + skewed
    expect(await log.append(id, after, events, { fence: held })).toEqual(
      naive.append(id, after, events, { fence: held }),
    )
  }
})

const sent = fc.constantFrom(undefined, '0.3', '1.0').map((dialect) => [message('more', dialect)])
const send = describeStep('send', fc.tuple(taskId, skew, fc.option(lease), claims, sent), (given) => {
  const [id, skewed, wanted, keyed, events] = given
  const options = { lease: wanted ?? undefined, claims: keyed }
  return async (log, naive) => {
    if (naive.isEnded(id)) return
    const after = naive.events(id).length + skewed
    expect(await log.append(id, after, events, options)).toEqual(naive.append(id, after, events, options))
  }
})

const acquire = describeStep('acquire', fc.tuple(taskId, lease), ([id, wanted]) => async (log, naive) => {
  expect(await log.acquire(id, wanted)).toEqual(naive.acquire(id, wanted))
})

const renew = describeStep('renew', fc.tuple(fc.array(fc.record({ taskId, fence })), ttl), ([leases, longer]) => {
  return async (log, naive) => {
    expect(await log.renew(leases, longer)).toEqual(naive.renew(leases, longer))
  }
})

const release = describeStep('release', fc.tuple(taskId, fence, skew), ([id, held, skewed]) => async (log, naive) => {
  const after = naive.events(id).length + skewed
  expect(await log.release(id, held, after)).toBe(naive.release(id, held, after))
})

const expire = describeStep('expire', before, (endedBefore) => async (log, naive) => {
  expect(await log.expire(endedBefore, 100)).toBe(naive.expire(endedBefore))
})

const forget = describeStep('forget', before, (endedBefore) => async (log, naive) => {
  expect(await log.forget(endedBefore, 100)).toBe(naive.forget(endedBefore))
})

const erase = describeStep('erase', task, ({ owner, contextId }) => async (log, naive) => {
  const erased = (await log.erase({ owner, contextId }, 100)).map(({ taskId: id }) => id)
  expect(erased.sort()).toEqual([...naive.erase(owner, contextId)].sort())
})

const work = fc.oneof(create, write, send, acquire, renew, release)
const retention = fc.oneof(expire, forget, erase)

async function compareAll(log: TaskLog, naive: ModelLog): Promise<void> {
  for (const { taskId: id } of tasks) {
    const { created: _, changed: __, ...head } = (await log.head(id)) ?? {}
    expect(head).toEqual(naive.head(id) ?? {})
    expect(await readAll(log, id)).toEqual(naive.events(id).map((event, index) => ({ generation: index + 1, event })))
  }
  for (const owner of ['alice', 'bob']) {
    const { heads, total } = await log.list({ owner, limit: 100 })
    expect(heads.map((head) => head.taskId)).toEqual(naive.list(owner))
    expect(total).toBe(heads.length)
    for (const key of keys) expect(await log.claimed(owner, key)).toEqual(naive.claimed(owner, key))
  }
  const orphans = (await log.orphans(100)).map((head) => head.taskId)
  expect(orphans.sort()).toEqual([...naive.orphans()].sort())
}
