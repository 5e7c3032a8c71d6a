import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../src/core/agent/turn.ts'
import type { StoredEvent } from '../../src/core/protocol/events.ts'
import type { Principal } from '../../src/core/protocol/model.ts'
import type { Call, Service } from '../../src/core/protocol/service.ts'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../support/agents/test-runtime.ts'
import { collect } from '../support/async.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const alice: Principal = { id: 'alice', tenant: 'acme' }
const bob: Principal = { id: 'bob', tenant: 'acme' }

/** A ratio of durations that an attacker could distinguish from noise. */
const detectable = 1.5
const samples = 40
/** Repeated measurements, because other work on the machine may distort one. */
const tries = 4

const logs: Readonly<Record<string, () => Promise<TaskLog>>> = {
  memory: async () => createMemoryLog(),
  SQLite: async () => createSqliteLog({ file: join(await temporaryDirectory(), 'tasks.db') }),
  PostgreSQL: openPostgres,
}

async function openPostgres(): Promise<TaskLog> {
  const database = await createDatabase()
  const pool = new pg.Pool({ connectionString: database.url })
  onTestFinished(async () => {
    await pool.end()
    await database.drop()
  })
  return await createPostgresLog({ pool })
}

type Operation = (service: Service, taskId: string, call: Call) => Promise<unknown>

/** Every operation on a task. */
const operations: Readonly<Record<string, Operation>> = {
  getTask: (service, taskId, call) => service.getTask({ taskId }, call),
  cancelTask: (service, taskId, call) => service.cancelTask({ taskId }, call),
  subscribeToTask: (service, taskId, call) => collect(service.subscribeToTask({ taskId }, call)),
  sendMessage: (service, taskId, call) => service.sendMessage({ message: messageOf('x', { taskId }) }, call),
  streamMessage: (service, taskId, call) =>
    collect(service.streamMessage({ message: messageOf('x', { taskId }) }, call)),
  createPushConfig: (service, taskId, call) => service.createPushConfig({ taskId, url: 'https://x.test/' }, call),
  getPushConfig: (service, taskId, call) => service.getPushConfig({ taskId, id: 'p' }, call),
  listPushConfigs: (service, taskId, call) => service.listPushConfigs({ taskId }, call),
  deletePushConfig: (service, taskId, call) => service.deletePushConfig({ taskId, id: 'p' }, call),
}

/** A large task: a thousand events, and a status of a megabyte. */
async function createLargeTask(turn: Turn): Promise<void> {
  const pages = turn.artifact('pages')
  for (let page = 0; page < 1_000; page++) await pages.write(`page ${page} ${'x'.repeat(200)}`)
  await turn.requireInput(`And now? ${'y'.repeat(2 ** 20)}`)
}

async function* eventsOf(log: TaskLog, taskId: string): AsyncGenerator<StoredEvent> {
  for (let after = 0; ; ) {
    const events = await log.read(taskId, after)
    yield* events
    const last = events.at(-1)
    if (!last) return
    after = last.generation
  }
}

/** The median durations of two functions in milliseconds, measured alternately, so that load affects both. */
async function medians(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<[number, number]> {
  const times: [number[], number[]] = [[], []]
  for (let round = 0; round < samples; round++) {
    const first = round % 2
    for (const which of [first, 1 - first] as const) {
      const begin = performance.now()
      await (which === 0 ? one() : other())
      times[which === 0 ? 0 : 1].push(performance.now() - begin)
    }
  }
  const median = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1] ?? 0
  return [median(times[0]), median(times[1])]
}

/** The smallest ratio of several measurements: noise goes either way, a real difference does not. */
async function ratio(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<number> {
  let smallest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < tries && smallest >= detectable; attempt++) {
    const [longer, shorter] = await medians(one, other)
    smallest = Math.min(smallest, longer / shorter)
  }
  return smallest
}

describe.each(Object.keys(logs))('%s', (name) => {
  it("every operation takes as long on another owner's task as on an unknown one", { timeout: 120_000 }, async () => {
    const log = (await logs[name]?.()) ?? expect.fail('unknown log')
    const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })
    const { service, drain } = createTestRuntime(createLargeTask, { log, push: { fetch } })
    onTestFinished(async () => {
      await drain(0)
      await log.close()
    })
    const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
    const repeat = (operation: Operation, taskId: string, principal: Principal) => async () => {
      for (let times = 0; times < 5; times++) await operation(service, taskId, callOf({ principal })).catch(() => {})
    }
    /** An id of the same length and form. */
    const unknownId = () => `${id.slice(0, -12)}${crypto.randomUUID().slice(-12)}`
    const ratios: Record<string, number> = {}
    for (const [name, operation] of Object.entries(operations)) {
      await medians(repeat(operation, unknownId(), bob), repeat(operation, id, bob)) // warms up the compiler
      ratios[name] = await ratio(repeat(operation, id, bob), repeat(operation, unknownId(), bob))
    }
    expect(Object.entries(ratios).filter(([, value]) => value >= detectable)).toEqual([])
    // The measurement would detect an operation that reads the task.
    const read = async () => {
      for (let times = 0; times < 5; times++) await collect(eventsOf(log, id))
    }
    const { getTask = expect.fail('unknown operation') } = operations
    const [reading, calling] = await medians(read, repeat(getTask, unknownId(), bob))
    expect(reading / calling).toBeGreaterThan(detectable)
  })
})
