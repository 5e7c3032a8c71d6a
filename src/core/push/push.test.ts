import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf } from '../../../test/support/agents/test-runtime.ts'
import { until } from '../../../test/support/async.ts'
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts'
import { createSqliteLog } from '../../stores/sqlite/sqlite-log.ts'
import { systemClock } from '../base/clock.ts'
import { StoreUnavailable } from '../protocol/errors.ts'
import type { TaskLog } from '../tasks/log.ts'
import { createMemoryPushStore } from './memory-store.ts'
import type { PushFetch } from './options.ts'
import type { PushStore } from './store.ts'

const url = 'https://receiver.example/'

describe('the webhook of a message that creates a task', () => {
  it.each([{ returnImmediately: false }, { returnImmediately: true }])(
    'is stored with the task, in one transaction of its file: %j',
    async (configuration) => {
      const { send, steps, webhooks } = await start()
      await send(configuration)
      // Writes that begin together are one transaction, in this order.
      expect(steps.slice(0, 2)).toEqual(['task begins', 'webhook begins'])
      expect(await webhooks.list({ limit: 2 })).toHaveLength(1)
    },
  )

  it('is stored after the task if another store holds it', async () => {
    const { send, steps } = await start({ store: createMemoryPushStore(systemClock) })
    await send()
    expect(steps).toEqual(['task begins', 'task stored', 'webhook begins', 'webhook stored'])
  })

  it('is removed if the task could not be stored', async () => {
    const failing = async () => {
      throw new StoreUnavailable(new Error('the disk is full'))
    }
    const { send, steps, webhooks } = await start({ create: failing })
    await expect(send()).rejects.toMatchObject({ code: 'unavailable' })
    await until(() => steps.includes('webhook stored'))
    await until(async () => (await webhooks.list({ limit: 1 })).length === 0)
  })
})

interface StartOptions {
  /** Stores the webhooks in the place of the log. */
  readonly store?: PushStore
  readonly create?: TaskLog['create']
}

/** A runtime on a SQLite file. `steps` are the writes of tasks and webhooks. */
async function start({ store, create }: StartOptions = {}) {
  const log = createSqliteLog({ file: join(await temporaryDirectory(), 'tasks.db') })
  const steps: string[] = []
  const record = async <T>(what: string, write: () => Promise<T>): Promise<T> => {
    steps.push(`${what} begins`)
    const result = await write()
    steps.push(`${what} stored`)
    return result
  }
  const recorded = (original: PushStore): PushStore => ({
    ...original,
    add: (...values) => record('webhook', () => original.add(...values)),
  })
  const fetch: PushFetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })
  const { service, drain } = createTestRuntime(() => 'done', {
    log: Object.assign({}, log, {
      create: (...values: Parameters<TaskLog['create']>) => record('task', () => (create ?? log.create)(...values)),
      webhooks: recorded(log.webhooks),
    }),
    push: { fetch, ...(store && { store: recorded(store) }) },
  })
  onTestFinished(async () => {
    await drain(0)
    await log.close()
  })
  const send = (configuration: object = {}) =>
    service.sendMessage(
      { message: messageOf('x'), configuration: { ...configuration, push: { url } }, dialect: 'v1.0' },
      callOf(),
    )
  return { send, steps, webhooks: log.webhooks }
}
