import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import type { StoredEvent } from '../../src/protocol/events.ts'
import type { Principal } from '../../src/protocol/model.ts'
import type { Call, Service } from '../../src/protocol/service.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import { createMemoryLog } from '../../src/tasks/memory-log.ts'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../support/agents/test-runtime.ts'
import { collect } from '../support/async.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const alice: Principal = { id: 'alice', tenant: 'acme' }
const bob: Principal = { id: 'bob', tenant: 'acme' }

/** A difference that somebody could tell from noise by asking often. */
const telling = 1.5
const samples = 40
/** A moment in which the machine is busy with something else may spoil one measurement, but not all of them. */
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

type Ask = (service: Service, taskId: string, call: Call) => Promise<unknown>

/** Every operation on a task, asked about one. */
const operations: Readonly<Record<string, Ask>> = {
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

/** A task with much in it, wherever one may come across it: a thousand events, and a status of a megabyte. */
async function talk(turn: Turn): Promise<void> {
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

/** Milliseconds of both, taken in turns, so that whatever happens to the machine happens to both. */
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
  const middle = (of: number[]) => of.sort((a, b) => a - b)[of.length >> 1] ?? 0
  return [middle(times[0]), middle(times[1])]
}

/** The smallest quotient of several measurements: noise goes either way, a difference does not. */
async function quotient(one: () => Promise<unknown>, other: () => Promise<unknown>): Promise<number> {
  let smallest = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < tries && smallest >= telling; attempt++) {
    const [longer, shorter] = await medians(one, other)
    smallest = Math.min(smallest, longer / shorter)
  }
  return smallest
}

describe.each(Object.keys(logs))('in %s', (name) => {
  it('a task of somebody else takes as long as none, for every operation', { timeout: 120_000 }, async () => {
    const log = (await logs[name]?.()) ?? expect.fail('there is no such log')
    const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })
    const { service, drain } = createTestRuntime(talk, { log, push: { fetch } })
    onTestFinished(async () => {
      await drain(0)
      await log.close()
    })
    const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
    const asker = (ask: Ask, taskId: string, principal: Principal) => async () => {
      for (let times = 0; times < 5; times++) await ask(service, taskId, callOf({ principal })).catch(() => {})
    }
    /** As long as the one that exists, and of the same form. */
    const none = () => `${id.slice(0, -12)}${crypto.randomUUID().slice(-12)}`
    const ratios: Record<string, number> = {}
    for (const [operation, ask] of Object.entries(operations)) {
      await medians(asker(ask, none(), bob), asker(ask, id, bob)) // Until all is compiled.
      ratios[operation] = await quotient(asker(ask, id, bob), asker(ask, none(), bob))
    }
    expect(Object.entries(ratios).filter(([, ratio]) => ratio >= telling)).toEqual([])
    // And it can be told by this if somebody reads what is in a task.
    const read = async () => {
      for (let times = 0; times < 5; times++) await collect(eventsOf(log, id))
    }
    const { getTask = expect.fail('is asked') } = operations
    const [reading, asking] = await medians(read, asker(getTask, none(), bob))
    expect(reading / asking).toBeGreaterThan(telling)
  })
})
