import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { apiKey, hashApiKey, newApiKey } from '../../../src/entries/auth.ts'
import { connect } from '../../../src/entries/client.ts'
import { createAgentLoop, localTool } from '../../../src/entries/loop.ts'
import { collect, deferred, until } from '../../support/async.ts'
import { scriptedModel, textReply, toolCalls } from '../../support/models/scripted-model.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { readExposition } from '../../support/telemetry/exposition.ts'

type Labels = Readonly<Record<string, string>>

/** Reads the metrics page. The result returns the sum of a metric by name and labels. */
async function readMetrics(url: string) {
  const response = await fetch(`${url}/metrics`)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const families = readExposition(await response.text())
  const samples = [...families.values()].flatMap((family) => family.samples)
  for (const { labels } of samples) expect(labels.agent).toBe('Test')
  return (name: string, labels: Labels = {}) =>
    samples
      .filter(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      )
      .reduce((sum, { value }) => sum + value, 0)
}

it('requests, streams, turns and running tasks are counted', async () => {
  const released = deferred()
  const { server } = await startTestServer(
    async (turn) => {
      if (turn.text !== 'slow') return 'done'
      await turn.status('working', 'Slowly')
      await released.promise
      return 'done'
    },
    { metrics: true },
  )
  const client = await connect(server.url)
  await client.send('fast')
  await client
    .task('unknown')
    .get()
    .catch(() => {})
  const stream = collect(client.stream('slow'))
  let metric = await readMetrics(server.url)
  await until(async () => {
    metric = await readMetrics(server.url)
    return metric('parley_stream_events_total') >= 1
  })
  const slow = await collect(client.listTasks())
  const taskId = slow[0]?.id ?? ''
  const queued = client.send('more', { taskId, returnImmediately: true })
  await until(async () => (await readMetrics(server.url))('parley_queue_messages') === 1)
  metric = await readMetrics(server.url)
  expect(metric('parley_requests_total', { operation: 'sendMessage', outcome: 'ok' })).toBeGreaterThanOrEqual(1)
  expect(metric('parley_requests_total', { operation: 'getTask', outcome: 'task-not-found' })).toBe(1)
  expect(metric('parley_request_duration_seconds_count', { operation: 'getTask' })).toBe(1)
  expect(metric('parley_requests_in_flight', { operation: 'streamMessage' })).toBe(1)
  expect([metric('parley_streams_open'), metric('parley_turns_active'), metric('parley_leases_held')]).toEqual([
    1, 1, 1,
  ])
  expect(metric('parley_http_requests_total', { method: 'POST', status: '200' })).toBeGreaterThan(1)

  released.resolve()
  await Promise.all([stream, queued])
  await until(async () => (await readMetrics(server.url))('parley_turns_active') === 0)
  metric = await readMetrics(server.url)
  const gauges = ['parley_streams_open', 'parley_requests_in_flight', 'parley_leases_held', 'parley_queue_messages']
  expect(gauges.map((name) => metric(name))).toEqual([0, 0, 0, 0])
  expect(metric('parley_turns_total', { state: 'answered' })).toBe(1)
  expect(metric('parley_turn_duration_seconds_count')).toBe(metric('parley_turns_total'))
})

it('deliveries, retries and abandoned events are counted', async () => {
  const hook = await startWebhookReceiver((webhook, response) =>
    response.writeHead(webhook.path === '/hook' ? 204 : 500).end(),
  )
  const push = { loopback: 'allow', schemes: ['http'], retry: { attempts: 2, first: 1, longest: 2 } } as const
  const { server } = await startTestServer((turn) => turn.status('completed', 'Done'), { metrics: true, push })
  const client = await connect(server.url)
  await client.send('a', { push: { url: hook.url } })
  await client.send('b', { push: { url: `${hook.url}/broken` } })
  await until(async () => (await readMetrics(server.url))('parley_push_events_total', { what: 'given-up' }) > 0)
  const metric = await readMetrics(server.url)
  expect(metric('parley_push_attempts_total', { outcome: 'delivered' })).toBeGreaterThan(0)
  expect(metric('parley_push_attempts_total', { outcome: 'failed' })).toBeGreaterThanOrEqual(2)
  expect(metric('parley_push_attempt_duration_seconds_count')).toBe(metric('parley_push_attempts_total'))
})

it('model calls, tokens and tool calls are counted', async () => {
  const add = localTool({ name: 'add', input: z.object({ a: z.number() }), run: ({ a }) => a })
  const loop = createAgentLoop({ model: scriptedModel(toolCalls(['add', '{"a":1}']), textReply('Done')), tools: [add] })
  const { server } = await startTestServer(loop, { metrics: true })
  await (await connect(server.url)).send('go')
  const metric = await readMetrics(server.url)
  expect(metric('parley_model_calls_total', { model: 'mock-model-id', outcome: 'ok' })).toBe(2)
  expect(metric('parley_model_tokens_total', { direction: 'input' })).toBe(20)
  expect(metric('parley_model_tokens_total', { direction: 'output' })).toBe(10)
  expect(metric('parley_tool_calls_total', { tool: 'add', outcome: 'ok' })).toBe(1)
})

it('the metrics page is off by default and allows only GET', async () => {
  const without = await startTestServer(() => 'hi')
  expect((await fetch(`${without.server.url}/metrics`)).status).toBe(404)
  const { server } = await startTestServer(() => 'hi', { metrics: true })
  expect((await fetch(`${server.url}/metrics`, { method: 'POST' })).status).toBe(405)
})

it('the metrics page requires credentials if there are schemes, and the permission of metrics.allow', async () => {
  const key = newApiKey()
  const keys = [{ id: 'prometheus', scopes: [], hash: await hashApiKey(key) }]
  const schemes = { key: apiKey({ keys }) }
  const statusOf = (url: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/metrics`, { headers }).then(({ status }) => status)
  const secured = await startTestServer(() => 'hi', { metrics: true, auth: { schemes } })
  expect([await statusOf(secured.server.url), await statusOf(secured.server.url, { 'x-api-key': key })]).toEqual([
    401, 200,
  ])
  expect(await statusOf(secured.server.url, { 'x-api-key': newApiKey() })).toBe(401)
  const withAnonymous = await startTestServer(() => 'hi', { metrics: true, auth: { schemes, anonymous: true } })
  expect([
    await statusOf(withAnonymous.server.url),
    await statusOf(withAnonymous.server.url, { 'x-api-key': key }),
  ]).toEqual([401, 200])
  const restricted = await startTestServer(() => 'hi', {
    metrics: { allow: ({ id }) => id !== 'prometheus' },
    auth: { schemes },
  })
  expect(await statusOf(restricted.server.url, { 'x-api-key': key })).toBe(403)
})

it('gRPC calls are counted by method and status, streams at their end', async () => {
  const { server } = await startTestServer((turn) => turn.status('working', 'Soon').then(() => 'done'), {
    metrics: true,
    grpc: true,
  })
  const transport = grpc({ loopback: 'allow' })
  onTestFinished(() => transport.close())
  const client = await connect(server.url, { bindings: [transport], retry: { tries: 1 } })
  await client.send('go')
  await collect(client.stream('go'))
  await client
    .task('unknown')
    .get()
    .catch(() => {})
  const expected = [
    { method: 'SendMessage', status: 'OK' },
    { method: 'SendStreamingMessage', status: 'OK' },
    { method: 'GetTask', status: 'NOT_FOUND' },
  ]
  let metric = await readMetrics(server.url)
  await until(async () => {
    metric = await readMetrics(server.url)
    return metric('parley_grpc_requests_total') >= expected.length
  })
  expect(expected.map((labels) => metric('parley_grpc_requests_total', labels))).toEqual([1, 1, 1])
})
