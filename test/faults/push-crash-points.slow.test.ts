import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createSqliteLog } from '../../src/entries/sqlite.ts'
import { until } from '../support/async.ts'
import {
  eventually,
  type ProcessOptions,
  type ServerProcess,
  startServerProcess,
} from '../support/processes/server-process.ts'
import type { CrashPoint } from '../support/push/crashing-push.ts'
import { expectAllDelivered, isAllDone } from '../support/push/expect-all-delivered.ts'
import { type ReceivedWebhook, startWebhookReceiver, type WebhookResponder } from '../support/push/webhook-receiver.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const options: ProcessOptions = {
  push: { timeout: 1_000, leaseTtl: 2_000, retry: { attempts: 50, first: 10, longest: 100 } },
  turns: { leaseTtl: 500 },
}

/** Runs a task in a process that is killed during a delivery, and then starts another process. */
async function runWithCrash(crashPoint?: CrashPoint, answer?: (kill: () => Promise<void>) => WebhookResponder) {
  const directory = await temporaryDirectory()
  let first: ServerProcess | undefined
  const receiver = await startWebhookReceiver(
    answer?.(async () => {
      first?.signal('SIGKILL')
      await first?.ended
    }),
  )
  first = await startServerProcess(directory, { ...options, ...(crashPoint && { crashPoint }) })
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: receiver.url } }
  await first.wire.send('count 8', { configuration }).catch(() => {})
  expect(await first.ended).toBe('SIGKILL')
  const before = [...receiver.requests]
  const log = createSqliteLog({ file: join(directory, 'scripted.db') })
  onTestFinished(() => log.close())
  await startServerProcess(directory, options)
  await eventually(async () => (await isAllDone(log)) && receiver.requests.length > 0)
  await until(() => receiver.requests.every(({ to }) => Number.isFinite(to)))
  expect(await expectAllDelivered(log, receiver)).toBe(1)
  return { before, after: receiver.requests.slice(before.length) }
}

const deliveryOf = ({ headers }: ReceivedWebhook) => headers['x-a2a-delivery-id']

interface CrashCase extends CrashPoint {
  /** The number of deliveries received before the crash. */
  readonly received: number
  /** Which of them must be sent again, because its cursor was not written. */
  readonly resent?: 'first' | 'last'
}

const crashCases: readonly CrashCase[] = [
  { step: 'registered', occurrence: 1, received: 0 },
  { step: 'leased', occurrence: 1, received: 0 },
  { step: 'sending', occurrence: 1, received: 0 },
  { step: 'sending', occurrence: 3, received: 2 },
  { step: 'answered', occurrence: 1, received: 1, resent: 'last' },
  { step: 'answered', occurrence: 3, received: 3, resent: 'last' },
  { step: 'writing-cursor', occurrence: 1, received: 1, resent: 'first' },
]

it.each(crashCases)(
  'a sender that is killed at the step "$step" (occurrence $occurrence) loses no event',
  {
    timeout: 60_000,
  },
  async ({ step, occurrence, received, resent }) => {
    const { before, after } = await runWithCrash({ step, occurrence })
    // Deliveries continue while a cursor is written.
    if (step === 'writing-cursor') expect(before.length).toBeGreaterThanOrEqual(received)
    else expect(before).toHaveLength(received)
    const unwritten = resent && before.at(resent === 'first' ? 0 : -1)
    if (unwritten) expect(after.map(deliveryOf)).toContain(deliveryOf(unwritten))
  },
)

/** Responds slowly, so that cursors are written in between. */
const respondSlowly: WebhookResponder = async (_, response) => {
  await sleep(30)
  response.writeHead(204).end()
}

it.each([1, 2])(
  'a sender that is killed after writing cursor %i loses no event',
  {
    timeout: 60_000,
  },
  async (occurrence) => {
    const { before, after } = await runWithCrash({ step: 'cursor-written', occurrence }, () => respondSlowly)
    expect(before.length).toBeGreaterThan(1)
    // Events before the cursor are not sent again.
    expect(after.map(deliveryOf)).not.toContain(before.map(deliveryOf)[0])
  },
)

it.each([1, 3])(
  'a sender that is killed before the response to request %i sends it again',
  {
    timeout: 60_000,
  },
  async (which) => {
    let count = 0
    const { before, after } = await runWithCrash(undefined, (kill) => async (_, response, request) => {
      if (++count !== which) return response.writeHead(204).end()
      await kill()
      request.socket.destroy()
    })
    expect(before).toHaveLength(which)
    expect(after.map(deliveryOf)).toContain(before.map(deliveryOf).at(-1))
  },
)
