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

/** One task in a process that dies at some moment of a delivery, and another process that goes on. */
async function story(death?: CrashPoint, answer?: (kill: () => Promise<void>) => WebhookResponder) {
  const directory = await temporaryDirectory()
  let first: ServerProcess | undefined
  const hook = await startWebhookReceiver(
    answer?.(async () => {
      first?.signal('SIGKILL')
      await first?.ended
    }),
  )
  first = await startServerProcess(directory, { ...options, ...(death && { crashPoint: death }) })
  const configuration = { returnImmediately: true, taskPushNotificationConfig: { url: hook.url } }
  await first.wire.send('count 8', { configuration }).catch(() => {})
  expect(await first.ended).toBe('SIGKILL')
  const before = [...hook.got]
  const log = createSqliteLog({ file: join(directory, 'scripted.db') })
  onTestFinished(() => log.close())
  await startServerProcess(directory, options)
  await eventually(async () => (await isAllDone(log)) && hook.got.length > 0)
  await until(() => hook.got.every(({ to }) => Number.isFinite(to)))
  expect(await expectAllDelivered(log, hook)).toBe(1)
  return { before, after: hook.got.slice(before.length) }
}

const deliveryOf = ({ headers }: ReceivedWebhook) => headers['x-a2a-delivery-id']

interface Dying extends CrashPoint {
  /** How much was received by then. */
  readonly got: number
  /** What of it must be sent again, since nobody has written down that it was sent. */
  readonly again?: 'first' | 'last'
}

const deaths: readonly Dying[] = [
  { step: 'registered', time: 1, got: 0 },
  { step: 'leased', time: 1, got: 0 },
  { step: 'sending', time: 1, got: 0 },
  { step: 'sending', time: 3, got: 2 },
  { step: 'answered', time: 1, got: 1, again: 'last' },
  { step: 'answered', time: 3, got: 3, again: 'last' },
  { step: 'writing-cursor', time: 1, got: 1, again: 'first' },
]

it.each(deaths)(
  'a sender that is killed at the step "$step", at time $time, loses nothing',
  {
    timeout: 60_000,
  },
  async ({ step, time, got, again }) => {
    const { before, after } = await story({ step, time })
    // While a cursor is written, deliveries go on.
    if (step === 'writing-cursor') expect(before.length).toBeGreaterThanOrEqual(got)
    else expect(before).toHaveLength(got)
    const unwritten = again && before.at(again === 'first' ? 0 : -1)
    if (unwritten) expect(after.map(deliveryOf)).toContain(deliveryOf(unwritten))
  },
)

/** So that cursors are written in between. */
const slowly: WebhookResponder = async (_, response) => {
  await sleep(30)
  response.writeHead(204).end()
}

it.each([1, 2])(
  'a sender that is killed when a cursor was written, at time %i, loses nothing',
  {
    timeout: 60_000,
  },
  async (time) => {
    const { before, after } = await story({ step: 'cursor-written', time }, () => slowly)
    expect(before.length).toBeGreaterThan(1)
    // What the cursor says is not sent again.
    expect(after.map(deliveryOf)).not.toContain(before.map(deliveryOf)[0])
  },
)

it.each([1, 3])(
  'a sender that is killed when request %i is received and not answered sends it again',
  {
    timeout: 60_000,
  },
  async (which) => {
    let count = 0
    const { before, after } = await story(undefined, (kill) => async (_, response, request) => {
      if (++count !== which) return response.writeHead(204).end()
      await kill()
      request.socket.destroy()
    })
    expect(before).toHaveLength(which)
    expect(after.map(deliveryOf)).toContain(before.map(deliveryOf).at(-1))
  },
)
