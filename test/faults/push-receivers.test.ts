import { expect, it } from 'vitest'
import type { AgentFunction } from '../../src/core/agent/agent-function.ts'
import type { ServePushOptions } from '../../src/serve/options.ts'
import { collect, until } from '../support/async.ts'
import { startWebhookReceiver, type WebhookReceiver, type WebhookResponder } from '../support/push/webhook-receiver.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const retry = { attempts: 5, first: 20, longest: 100 }
const ok: WebhookResponder = (_, response) => response.writeHead(204).end()

/** A task with five delivered events, of generations 2 to 6. */
const work: AgentFunction = async (turn) => {
  await turn.status('working', 'on it')
  for (const text of ['a', 'b']) await turn.status('working', text)
  return 'done'
}
const delivered = [2, 3, 4, 5, 6]

async function startPushing(push: ServePushOptions = {}, run: AgentFunction = work) {
  const { wire, server } = await startTestServer(run, { push: { retry, timeout: 300, ...push } })
  const { push: admin } = server
  if (!admin) throw new Error('push is disabled')
  const send = ({ url }: Pick<WebhookReceiver, 'url'>) =>
    wire.sendTask('go', { configuration: { taskPushNotificationConfig: { url } } })
  return { wire, server, admin, send }
}

/** Fails the first requests and accepts the others. */
function failingFirst(times: number, fail: WebhookResponder): WebhookResponder {
  let failed = 0
  return (delivery, response, request) =>
    failed++ < times ? fail(delivery, response, request) : ok(delivery, response, request)
}

/** The generations that arrived, in order of arrival. */
function generationsOf({ requests }: WebhookReceiver): readonly number[] {
  return [...new Set(requests.map(({ generation }) => generation))]
}

const faults: readonly (readonly [string, WebhookResponder, RegExp])[] = [
  ['answers with 500', (_, response) => response.writeHead(500).end('no'), /answered with 500/],
  ['hangs', () => {}, /no answer within|was not complete|there was no answer/],
  ['closes the connection', (_, __, request) => request.socket.destroy(), /./],
  [
    'redirects to a private address',
    (_, response) => response.writeHead(307, { location: 'http://169.254.169.254/latest/' }).end(),
    /redirects/,
  ],
  ['does not answer with HTTP', (_, __, request) => request.socket.end('SSH-2.0-OpenSSH_9.6\r\n\r\n'), /./],
]

for (const [fault, fail, problem] of faults) {
  it(`a receiver that ${fault} gets every event in order once it recovers`, async () => {
    const receiver = await startWebhookReceiver(failingFirst(2, fail))
    const { send, admin } = await startPushing()
    const { id: taskId } = await send(receiver)
    let failing: string | undefined
    await until(async () => {
      const [retrying] = await collect(admin.deliveries({ taskId, outcome: 'retrying' }))
      failing ??= retrying?.problem
      return generationsOf(receiver).length === delivered.length
    })
    expect(receiver.requests.map(({ generation }) => generation)).toEqual([2, 2, 2, 3, 4, 5, 6])
    expect(receiver.requests.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 1, 1, 1, 1])
    expect(new Set(receiver.requests.slice(0, 3).map(({ headers }) => headers['x-a2a-delivery-id'])).size).toBe(1)
    if (failing) expect(failing).toMatch(problem)
    await until(async () => (await collect(admin.webhooks({ taskId })))[0]?.state === 'done')
    const deliveries = await collect(admin.deliveries({ taskId }))
    expect(deliveries.map(({ generation, outcome, attempts }) => [generation, outcome, attempts])).toEqual([
      [2, 'delivered', 3],
      [3, 'delivered', 1],
      [4, 'delivered', 1],
      [5, 'delivered', 1],
      [6, 'delivered', 1],
    ])
    for (const { latency } of deliveries) expect(latency).toBeGreaterThan(0)
  })
}

it('an endless response counts by its status, and little of it is read', async () => {
  let written = 0
  const endless = await startWebhookReceiver((_, response) => {
    response.writeHead(200)
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) written += 16 * 1024
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  const { send } = await startPushing()
  await send(endless)
  await until(() => generationsOf(endless).length === delivered.length)
  expect(endless.requests.map(({ generation }) => generation)).toEqual(delivered)
  expect(written).toBeLessThan(delivered.length * 8 * 1024 * 1024)
})

it('a trickling response counts by its status and delays the next event only briefly', async () => {
  const dripping = await startWebhookReceiver((_, response) => {
    response.writeHead(200).write('.')
    const drip = setInterval(() => response.write('.'), 20)
    response.on('close', () => clearInterval(drip))
  })
  const { send, admin } = await startPushing({ timeout: 30_000 })
  const started = performance.now()
  const { id: taskId } = await send(dripping)
  await until(() => generationsOf(dripping).length === delivered.length, 10_000)
  expect(performance.now() - started).toBeLessThan(10_000)
  expect(dripping.requests.map(({ generation, attempt }) => [generation, attempt])).toEqual(
    delivered.map((n) => [n, 1]),
  )
  await until(
    async () => (await collect(admin.deliveries({ taskId, outcome: 'delivered' }))).length === delivered.length,
  )
})

it('Retry-After of a receiver is respected', async () => {
  const busy = await startWebhookReceiver(
    failingFirst(1, (_, response) => response.writeHead(429, { 'retry-after': '1' }).end()),
  )
  const { send } = await startPushing({ retry: { ...retry, longest: 5_000 } })
  await send(busy)
  await until(() => busy.requests.length > 1)
  const [first, second] = busy.requests
  expect((second?.from ?? 0) - (first?.from ?? 0)).toBeGreaterThan(900)
})

it('a receiver that answers 410 gets one request, and its webhook is removed', async () => {
  const gone = await startWebhookReceiver((_, response) => response.writeHead(410).end())
  const { send, wire, admin } = await startPushing()
  const { id: taskId } = await send(gone)
  await until(async () => (await collect(admin.webhooks({ taskId }))).length === 0)
  expect(gone.requests).toHaveLength(1)
  expect(await wire.result('ListTaskPushNotificationConfigs', { taskId })).toEqual({})
})

it('dead deliveries can be redriven, and a paused webhook can be resumed', async () => {
  let isHealthy = false
  const receiver = await startWebhookReceiver((requests, response, request) =>
    isHealthy ? ok(requests, response, request) : response.writeHead(503).end(),
  )
  const { send, admin } = await startPushing({ retry: { ...retry, attempts: 2 }, pauseAfter: 2 })
  const { id: taskId } = await send(receiver)
  await until(async () => (await collect(admin.webhooks({ taskId })))[0]?.state === 'paused')
  expect((await collect(admin.webhooks({ taskId })))[0]).toMatchObject({ dead: 2, problem: 'answered with 503' })
  const dead = await collect(admin.deliveries({ taskId, outcome: 'dead' }))
  expect(dead.map(({ generation, attempts, status }) => [generation, attempts, status])).toEqual([
    [2, 2, 503],
    [3, 2, 503],
  ])
  const requests = receiver.requests.length
  expect(requests).toBe(4)

  isHealthy = true
  expect(await admin.resume({ taskId })).toBe(1)
  await until(() => generationsOf(receiver).includes(6))
  expect(receiver.requests.slice(requests).map(({ generation }) => generation)).toEqual([4, 5, 6])

  expect(await admin.redrive({ taskId, generation: 3 })).toBe(1)
  expect(await admin.redrive({ taskId })).toBe(1)
  await until(async () => (await collect(admin.deliveries({ taskId, outcome: 'delivered' }))).length === 5)
  expect(
    receiver.requests
      .slice(requests + 3)
      .map(({ generation }) => generation)
      .sort(),
  ).toEqual([2, 3])
  expect(await collect(admin.deliveries({ taskId, outcome: 'dead' }))).toEqual([])
  expect(await admin.redrive({ taskId })).toBe(0)
})

it('hanging receivers do not delay others, on the same host or not', async () => {
  const { requests, url } = await startWebhookReceiver((delivery, response, request) =>
    delivery.path.includes('hang') ? undefined : ok(delivery, response, request),
  )
  const { send } = await startPushing({ timeout: 30_000, concurrency: { total: 4, perHost: 4 } })
  for (let at = 0; at < 20; at++) await send({ url: `${url}/hang/${at}` })
  const started = performance.now()
  await send({ url: `${url}/healthy` })
  await until(() => requests.filter(({ path }) => path.endsWith('/healthy')).length === delivered.length, 20_000)
  expect(performance.now() - started).toBeLessThan(15_000)
})

it('a hanging receiver does not delay its task', async () => {
  const hanging = await startWebhookReceiver(() => {})
  const { send } = await startPushing({ timeout: 30_000 })
  const started = performance.now()
  expect((await send(hanging)).status.state).toBe('TASK_STATE_COMPLETED')
  expect(performance.now() - started).toBeLessThan(5_000)
})

it('a deleted webhook receives nothing more, and a replaced one at its new URL', async () => {
  const [first, second] = [await startWebhookReceiver(), await startWebhookReceiver()]
  const { wire } = await startPushing({}, async (turn) => {
    if (turn.text !== 'end') await turn.requireInput('More?')
    return turn.text === 'end' ? 'done' : undefined
  })
  const config = { id: 'one', url: first.url }
  const { id: taskId } = await wire.sendTask('go', { configuration: { taskPushNotificationConfig: config } })
  await until(() => first.requests.length === 2 && Number.isFinite(first.requests[1]?.to))
  await wire.result('CreateTaskPushNotificationConfig', { taskId, id: 'one', url: second.url })
  await wire.sendTask('go on', { taskId })
  await until(() => second.requests.length >= 2)
  await wire.result('DeleteTaskPushNotificationConfig', { taskId, id: 'one' })
  await wire.sendTask('end', { taskId })
  expect(first.requests.map(({ generation }) => generation)).toEqual([2, 3])
  expect(
    [...new Set(second.requests.map(({ generation }) => generation))].filter((generation) => generation > 3),
  ).toEqual([5, 6])
})
