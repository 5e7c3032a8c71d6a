import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Clock } from '../../../src/core/base/clock.ts'
import { createPushFetch } from '../../../src/core/node/guarded-fetch/push-fetch.ts'
import type { LogWithWebhooks } from '../../../src/core/push/push.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { createSqliteLog } from '../../../src/entries/sqlite.ts'
import { createVirtualClock } from '../../../src/testing/virtual-clock.ts'
import { collect, until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'
import { createWireClient } from '../../support/wire/wire-client.ts'

/** Longer than a test may take, in milliseconds of virtual time. */
const long = 120_000
/** Timeout of real time, in milliseconds. */
const patience = 30_000

const logs: readonly (readonly [string, (clock: Clock) => Promise<LogWithWebhooks>])[] = [
  ['memory', async (clock) => createMemoryLog({ clock })],
  ['SQLite', async (clock) => createSqliteLog({ file: join(await temporaryDirectory(), 'tasks.db'), clock })],
]

it.each(logs)(
  'webhooks in the %s log use the runtime’s clock for retries, Retry-After and timeouts',
  {
    timeout: 60_000,
  },
  async (_, openLog) => {
    const hook = await startWebhookReceiver((_, response) => {
      const { length } = hook.requests
      if (length === 1) response.writeHead(503).end()
      else if (length === 2) response.writeHead(503, { 'retry-after': `${(5 * long) / 1000}` }).end()
      else if (length > 3) response.writeHead(204).end()
    })
    const clock = createVirtualClock(Date.parse('2030-01-01T00:00:00Z'))
    const log = await openLog(clock)
    onTestFinished(() => log.close())
    const handler = createHandler(
      agent({ name: 'Test' }, (turn) => turn.requireInput('Which?').then(() => undefined)),
      {
        auth: 'none',
        clock,
        log,
        logger: silentLogger,
        push: {
          events: ['rest'],
          fetch: createPushFetch({ loopback: 'allow', timeout: 600_000 }),
          timeout: 60_000,
          retry: { first: long, longest: 10 * long },
        },
      },
    )
    onTestFinished(() => clock.run(handler.drain(0)))
    const wire = createWireClient('http://agent.test/', (at, init) => handler.fetch(new Request(at, init)))
    const push = { taskPushNotificationConfig: { url: hook.url } }
    const { id: taskId } = await clock.run(wire.sendTask('go', { configuration: push }))
    const { push: control } = handler
    if (!control) throw new Error('it should push')
    const retrying = async () => (await collect(control.deliveries({ taskId, outcome: 'retrying' })))[0]
    const begun = clock.now()

    /** Advances the clock until this many requests were received and recorded; returns the time of the next attempt. */
    async function passUntil(requests: number): Promise<number> {
      await until(async () => {
        await clock.advance(20_000)
        return hook.requests.length === requests && (await retrying())?.attempts === requests
      }, patience)
      return (await retrying())?.nextTry ?? 0
    }

    const second = await passUntil(1)
    expect(second).toBeGreaterThan(begun)
    expect(second).toBeLessThanOrEqual(clock.now() + long)
    const third = await passUntil(2)
    expect(third).toBeGreaterThan(begun + 5 * long)
    await passUntil(3)
    expect(clock.now()).toBeGreaterThan(third)
    expect((await retrying())?.problem).toBe('no answer within 60 seconds')
    await until(async () => {
      await clock.advance(20_000)
      return hook.requests.length === 4
    }, patience)
    expect(hook.requests.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4])
  },
)
