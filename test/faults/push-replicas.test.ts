import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect, it, onTestFailed, onTestFinished } from 'vitest'
import { createPostgresLog } from '../../src/entries/postgres.ts'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import type { LogWithWebhooks } from '../../src/push/push.ts'
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

/** Where processes keep their tasks, and how to look at them from outside. */
interface Place {
  readonly start: () => ReturnType<typeof startServerProcess>
  readonly open: () => Promise<LogWithWebhooks>
}

async function onSqlite(): Promise<Place> {
  const directory = await temporaryDirectory()
  return {
    start: () => startServerProcess(directory, options),
    open: async () => createSqliteLog({ file: join(directory, 'scripted.db') }),
  }
}

async function onPostgres(): Promise<Place> {
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

/** Another run each time; what it was is told if it fails. */
function chance(): Random {
  const seed = Date.now() % 1_000_000
  onTestFailed(() => console.error(`The seed was ${seed}.`))
  return createRandom(seed)
}

/** Now and then slow, and now and then wrong. */
function moody(random: Random): Promise<WebhookReceiver> {
  return startWebhookReceiver(async (_, response) => {
    await sleep(random.below(20))
    response.writeHead(random.below(20) === 0 ? 500 : 204).end()
  })
}

/** Begins a task that its process may not live to see; whether it was heard is all the same. */
async function begin(wire: WireClient, { url }: WebhookReceiver, events: number): Promise<void> {
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url } }
  await wire.send(`count ${events}`, { configuration }).catch(() => {})
}

it('a sender that is killed at any moment loses no event and keeps their order', { timeout: 120_000 }, async () => {
  const random = chance()
  const place = await onSqlite()
  const hook = await moody(random)
  for (let round = 0; round < 8; round++) {
    const { wire, signal, ended } = await place.start()
    const sends = Array.from({ length: 4 }, () => begin(wire, hook, 10 + random.below(30)))
    await sleep(random.below(600))
    signal('SIGKILL')
    await Promise.all([ended, ...sends])
  }
  const log = await place.open()
  onTestFinished(() => log.close())
  await place.start()
  await eventually(() => isAllDone(log))
  expect(await expectAllDelivered(log, hook)).toBeGreaterThan(4)
})

for (const [name, makePlace] of [
  ['SQLite', onSqlite],
  ['PostgreSQL', onPostgres],
] as const) {
  it(`of two replicas on ${name} one tells each webhook, also if one of them is killed`, {
    timeout: 120_000,
  }, async () => {
    const random = chance()
    const place = await makePlace()
    const hook = await moody(random)
    const replicas = [await place.start(), await place.start()]
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 8 }, () => begin(random.pick(replicas).wire, hook, 10 + random.below(30))))
      await sleep(random.below(300))
      const at = random.below(2)
      replicas[at]?.signal('SIGKILL')
      await replicas[at]?.ended
      replicas[at] = await place.start()
    }
    const log = await place.open()
    onTestFinished(() => log.close())
    await eventually(() => isAllDone(log))
    expect(await expectAllDelivered(log, hook)).toBeGreaterThan(8)
  })
}
