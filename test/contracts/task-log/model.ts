import fc from 'fast-check'
import type { TaskLog } from '../../../src/core/tasks/log.ts'
import { expect } from '../../../src/testing/stores/expect.ts'
import type { StoreTest } from '../../../src/testing/stores/store-test.ts'
import { chunk, message, readAll, reply, status, step } from '../../../src/testing/stores/task-log/fixtures.ts'
import { ModelLog } from './model-log.ts'

/** Random sequences of operations, each on new storage. */
export function modelTests(runs: number): readonly StoreTest<TaskLog>[] {
  return [
    {
      name: 'any sequence of operations gives the results of the model',
      run: (createStorage) =>
        assertLikeModel(fc.oneof(work, retention), runs, async () => {
          const storage = await createStorage()
          return { logs: [await storage.open()], cleanup: () => storage.cleanup() }
        }),
    },
  ]
}

/** Without retention: a log may still have cached what the other one removed. */
export function sharedModelTests(runs: number): readonly StoreTest<TaskLog>[] {
  return [
    {
      name: 'any sequence of operations by two processes gives the results of the model',
      run: (createStorage) =>
        assertLikeModel(work, runs, async () => {
          const storage = await createStorage()
          return { logs: [await storage.open(), await storage.open()], cleanup: () => storage.cleanup() }
        }),
    },
  ]
}

interface OpenedLogs {
  readonly logs: readonly TaskLog[]
  readonly cleanup: () => Promise<void>
}

async function assertLikeModel(step: fc.Arbitrary<Step>, runs: number, open: () => Promise<OpenedLogs>): Promise<void> {
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
  await fc.assert(property, { numRuns: runs })
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
/** Usually 0, so that not every step is refused. */
const skew = fc.constantFrom(0, 0, 0, 0, -1, 1)
const time = fc.constantFrom(1_000, 2_000)
const before = time.map((chosen) => chosen + 500)
const claims = fc.array(fc.record({ key: fc.constantFrom(...keys), digest: fc.constantFrom('d', 'e') }), {
  maxLength: 1,
})
const progress = fc.oneof(
  fc.string().map(chunk),
  fc.constant(step),
  time.map((at) => status('working', at)),
  time.map((at) => status('input-required', at, 'a question')),
)
const end = time.map((at) => status('completed', at, 'done'))
const agentEvents = fc.oneof(
  fc.array(progress, { minLength: 1, maxLength: 3 }),
  fc.tuple(fc.array(progress, { maxLength: 2 }), end).map(([first, last]) => [...first, last]),
)
const firstEvents = fc.oneof(
  fc.constant([message()]),
  fc.constant([message(), reply]),
  agentEvents.map((events) => [message(), ...events]),
)

type Step = (log: TaskLog, model: ModelLog) => Promise<void>

/** A step that describes itself in a counterexample. */
function describeStep<T>(name: string, input: fc.Arbitrary<T>, run: (input: T) => Step): fc.Arbitrary<Step> {
  return input.map((chosen) =>
    Object.assign(run(chosen), { [fc.toStringMethod]: () => `${name} ${JSON.stringify(chosen)}` }),
  )
}

const create = describeStep(
  'create',
  fc.tuple(task, firstEvents, lease, claims),
  ([newTask, events, newLease, newClaims]) => {
    const options = { lease: newLease, claims: newClaims }
    return async (log, model) => {
      const outcome = await log
        .create(newTask, events, options)
        .catch((error: Error) => (error.message.includes('exists already') ? 'exists' : Promise.reject(error)))
      expect(outcome).toEqual(model.create(newTask, events, options))
    }
  },
)

const write = describeStep('write', fc.tuple(taskId, skew, agentEvents, fence), ([id, skewed, events, held]) => {
  return async (log, model) => {
    if (model.isEnded(id)) return // writers never append to an ended task
    const after = model.events(id).length + skewed
    expect(await log.append(id, after, events, { fence: held })).toEqual(
      model.append(id, after, events, { fence: held }),
    )
  }
})

const messages = fc.constantFrom(undefined, '0.3', '1.0').map((dialect) => [message('more', dialect)])
const send = describeStep('send', fc.tuple(taskId, skew, fc.option(lease), claims, messages), (input) => {
  const [id, skewed, newLease, newClaims, events] = input
  const options = { lease: newLease ?? undefined, claims: newClaims }
  return async (log, model) => {
    if (model.isEnded(id)) return
    const after = model.events(id).length + skewed
    expect(await log.append(id, after, events, options)).toEqual(model.append(id, after, events, options))
  }
})

const acquire = describeStep('acquire', fc.tuple(taskId, lease), ([id, request]) => async (log, model) => {
  expect(await log.acquire(id, request)).toEqual(model.acquire(id, request))
})

const renew = describeStep('renew', fc.tuple(fc.array(fc.record({ taskId, fence })), ttl), ([leases, longer]) => {
  return async (log, model) => {
    expect(await log.renew(leases, longer)).toEqual(model.renew(leases, longer))
  }
})

const release = describeStep('release', fc.tuple(taskId, fence, skew), ([id, held, skewed]) => async (log, model) => {
  const after = model.events(id).length + skewed
  expect(await log.release(id, held, after)).toBe(model.release(id, held, after))
})

const expire = describeStep('expire', before, (endedBefore) => async (log, model) => {
  expect(await log.expire(endedBefore, 100)).toBe(model.expire(endedBefore))
})

const forget = describeStep('forget', before, (endedBefore) => async (log, model) => {
  expect(await log.forget(endedBefore, 100)).toBe(model.forget(endedBefore))
})

const erase = describeStep('erase', task, ({ owner, contextId }) => async (log, model) => {
  const erased = (await log.erase({ owner, contextId }, 100)).map(({ taskId: id }) => id)
  expect(erased.sort()).toEqual([...model.erase(owner, contextId)].sort())
})

const work = fc.oneof(create, write, send, acquire, renew, release)
const retention = fc.oneof(expire, forget, erase)

async function compareAll(log: TaskLog, model: ModelLog): Promise<void> {
  for (const { taskId: id } of tasks) {
    const { created: _, changed: __, ...head } = (await log.head(id)) ?? {}
    expect(head).toEqual(model.head(id) ?? {})
    expect(await readAll(log, id)).toEqual(model.events(id).map((event, index) => ({ generation: index + 1, event })))
  }
  for (const owner of ['alice', 'bob']) {
    const { heads, total } = await log.list({ owner, limit: 100 })
    expect(heads.map((head) => head.taskId)).toEqual(model.list(owner))
    expect(total).toBe(heads.length)
    for (const key of keys) expect(await log.claimed(owner, key)).toEqual(model.claimed(owner, key))
  }
  const orphans = (await log.orphans(100)).map((head) => head.taskId)
  expect(orphans.sort()).toEqual([...model.orphans()].sort())
}
