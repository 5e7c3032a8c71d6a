import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, it, onTestFailed, onTestFinished } from 'vitest'
import type { LogWithWebhooks } from '../../src/core/push/push.ts'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { eventually, type ProcessOptions, startServerProcess } from '../support/processes/server-process.ts'
import { expectAllDelivered, isAllDone } from '../support/push/expect-all-delivered.ts'
import { startWebhookReceiver, type WebhookReceiver } from '../support/push/webhook-receiver.ts'
import { createRandom, type Random } from '../support/random.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import type { WireClient } from '../support/wire/wire-client.ts'

startServerFirst()

const options: ProcessOptions = {
  push: { timeout: 500, leaseTtl: 1_500, retry: { attempts: 50, first: 10, longest: 100 } },
  turns: { leaseTtl: 1_000 },
}

/** How to start processes on shared storage, and how to open its log. */
interface Storage {
  readonly start: () => ReturnType<typeof startServerProcess>
  readonly open: () => Promise<LogWithWebhooks>
}

async function createSqliteStorage(): Promise<Storage> {
  const directory = await temporaryDirectory()
  return {
    start: () => startServerProcess(directory, options),
    open: async () => createSqliteLog({ file: join(directory, 'scripted.db') }),
  }
}

async function createPostgresStorage(): Promise<Storage> {
  const [directory, { url, drop }] = [await temporaryDirectory(), await createDatabase()]
  onTestFinished(drop)
  return {
    start: () => startServerProcess(directory, { ...options, postgres: { url } }),
    async open() {
      const pool = new pg.Pool({ connectionString: url })
      onTestFinished(() => pool.end())
      return await createPostgresLog({ pool })
    },
  }
}

/** A different random run each time; the seed is printed on failure. */
function newRandom(): Random {
  const seed = Date.now() % 1_000_000
  onTestFailed(() => console.error(`The seed was ${seed}.`))
  return createRandom(seed)
}

/** A receiver that is sometimes slow and sometimes fails. */
function startFlakyReceiver(random: Random): Promise<WebhookReceiver> {
  return startWebhookReceiver(async (_, response) => {
    await sleep(random.below(20))
    response.writeHead(random.below(20) === 0 ? 500 : 204).end()
  })
}

/** Starts a task. The process may be killed before it responds. */
async function startTask(wire: WireClient, { url }: WebhookReceiver, events: number): Promise<void> {
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } }
  await wire.send(`count ${events}`, { configuration }).catch(() => {})
}

it('a sender that is killed at any time loses no event and keeps their order', { timeout: 120_000 }, async () => {
  const random = newRandom()
  const storage = await createSqliteStorage()
  const receiver = await startFlakyReceiver(random)
  for (let round = 0; round < 8; round++) {
    const { wire, signal, ended } = await storage.start()
    const sends = Array.from({ length: 4 }, () => startTask(wire, receiver, 10 + random.below(30)))
    await sleep(random.below(600))
    signal('SIGKILL')
    await Promise.all([ended, ...sends])
  }
  const log = await storage.open()
  onTestFinished(() => log.close())
  await storage.start()
  await eventually(() => isAllDone(log))
  expect(await expectAllDelivered(log, receiver)).toBeGreaterThan(4)
})

for (const [name, createStorage] of [
  ['SQLite', createSqliteStorage],
  ['PostgreSQL', createPostgresStorage],
] as const) {
  it(`one of two replicas on ${name} delivers to each webhook, even if a replica is killed`, {
    timeout: 120_000,
  }, async () => {
    const random = newRandom()
    const storage = await createStorage()
    const receiver = await startFlakyReceiver(random)
    const replicas = [await storage.start(), await storage.start()]
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        Array.from({ length: 8 }, () => startTask(random.pick(replicas).wire, receiver, 10 + random.below(30))),
      )
      await sleep(random.below(300))
      const at = random.below(2)
      replicas[at]?.signal('SIGKILL')
      await replicas[at]?.ended
      replicas[at] = await storage.start()
    }
    const log = await storage.open()
    onTestFinished(() => log.close())
    await eventually(() => isAllDone(log))
    expect(await expectAllDelivered(log, receiver)).toBeGreaterThan(8)
  })
}
