import { describe, expect, it } from 'vitest'
import type { Trace } from '../../../src/core/base/trace-context.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { connect } from '../../../src/entries/client.ts'
import { collect, until } from '../../support/async.ts'
import { meshPair, startMeshServer } from '../../support/mesh/mesh-peers.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const spanId = 'b7ad6b7169203331'
const trace: Trace = { traceparent: `00-${traceId}-${spanId}-01`, tracestate: 'rojo=1,congo=2' }
const headers = { ...trace }

describe.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('over %s', (binding) => {
  it('a turn has the trace of its caller, and malformed headers are ignored', async () => {
    const seen: (Trace | undefined)[] = []
    const { server } = await startTestServer((turn) => void seen.push(turn.trace), { grpc: true })
    const client = await connect(server.url, { bindings: [binding === 'GRPC' ? grpc({ loopback: 'allow' }) : binding] })
    const malformed = { traceparent: trace.traceparent.replace('00-', 'zz-'), tracestate: 'rojo=1' }
    const given = [headers, { traceparent: trace.traceparent, tracestate: 'not=a=list' }, malformed, {}]
    for (const each of given) await client.send('hi', { headers: each })
    await collect(client.stream('hi', { headers }))
    expect(seen).toEqual([trace, { traceparent: trace.traceparent }, undefined, undefined, trace])
  })
})

it('header names are case-insensitive, and two traceparent headers are ignored', async () => {
  const seen: (Trace | undefined)[] = []
  const { wire, server } = await startTestServer((turn) => void seen.push(turn.trace))
  await wire.call('SendMessage', { message: messageOf('a') }, { Traceparent: trace.traceparent, TRACESTATE: 'a=1' })
  const twice = [
    ['content-type', 'application/json'],
    ['a2a-version', '1.0'],
    ['traceparent', trace.traceparent],
    ['traceparent', trace.traceparent],
  ] as [string, string][]
  const call = { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message: messageOf('b') } }
  const response = await fetch(server.url, { method: 'POST', headers: twice, body: JSON.stringify(call) })
  expect(response.status).toBe(200)
  expect(seen).toEqual([{ ...trace, tracestate: 'a=1' }, undefined])
})

function messageOf(messageId: string) {
  return { messageId, role: 'ROLE_USER', parts: [{ text: 'hi' }] }
}

it('the trace is passed to called agents, unless the author sets another one', async () => {
  const seen: (Trace | undefined)[] = []
  const writer = await startTestServer((turn) => void seen.push(turn.trace), { profile: { name: 'Writer' } })
  const client = await connect(writer.server.url)
  const own = { traceparent: trace.traceparent.replace('b7', 'c7') }
  const planner = await startTestServer(async (turn) => {
    await turn.call(client, 'write')
    await turn.call(client, 'write', { headers: { ...own, tracestate: 'own=1' } })
  })
  await (await connect(planner.server.url)).send('go', { headers })
  expect(seen).toEqual([trace, { ...own, tracestate: 'own=1' }])
})

it('webhooks carry the trace that started the task, even if they or later messages have another one', async () => {
  const [hook, later] = [await startWebhookReceiver(), await startWebhookReceiver()]
  const { server } = await startTestServer(
    async (turn) => {
      await turn.ask('What?')
      return 'done'
    },
    { push: { loopback: 'allow', schemes: ['http'] } },
  )
  const client = await connect(server.url)
  const { task } = await client.send('go', { headers, push: { url: hook.url } })
  const other = { traceparent: trace.traceparent.replace('0a', '1b') }
  await client.task(task?.id ?? '').push.create({ url: later.url }, { headers: other })
  await client.send('this', { taskId: task?.id ?? '', headers: other, push: { url: `${later.url}/inline` } })
  const ended = ({ requests }: typeof hook) => requests.filter(({ body }) => body.includes('COMPLETED')).length
  await until(() => ended(hook) === 1 && ended(later) === 2)
  const traces = [...hook.requests, ...later.requests].map((each) => [
    each.headers.traceparent,
    each.headers.tracestate,
  ])
  expect(traces).toEqual(traces.map(() => [trace.traceparent, trace.tracestate]))
})

describe('trace metadata of events', () => {
  const message = { kind: 'message', role: 'user', messageId: 'm', parts: [{ kind: 'text', text: 'hi' }] }

  const eventsOf = async (url: string, body: object, traceHeaders: Readonly<Record<string, string>> = headers) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream', ...traceHeaders },
      body: JSON.stringify(body),
    })
    const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
    return lines.map((line) => JSON.parse(line.slice(6))).map((event) => event.result ?? event)
  }
  const metadataOf = async (url: string, body: object, traceHeaders: Readonly<Record<string, string>> = headers) =>
    (await eventsOf(url, body, traceHeaders)).map(({ metadata }) => metadata)
  const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
  const stream = () => call('message/stream', { message: { ...message, messageId: crypto.randomUUID() } })
  const restBody = () => ({ message: { ...message, messageId: crypto.randomUUID() } })

  const work = async function* () {
    yield 'a chunk'
  }

  /** All events are in the same span, which is not that of the caller. */
  function expectOwnSpan(stamped: readonly { readonly traceId: string; readonly spanId: string }[], expected?: string) {
    expect(stamped.length).toBeGreaterThan(1)
    const [first] = stamped
    expect(first?.traceId).toMatch(/^[0-9a-f]{32}$/)
    expect(first?.spanId).toMatch(/^[0-9a-f]{16}$/)
    expect(first?.spanId).not.toBe(spanId)
    if (expected) expect(first?.traceId).toBe(expected)
    else expect(first?.traceId).not.toBe(traceId)
    for (const metadata of stamped) expect(metadata).toMatchObject({ ...first })
  }

  it('every event of the house endpoint is in a span of the server, in the trace of the caller or a new one', async () => {
    const { server } = await startTestServer(work)
    expectOwnSpan(await metadataOf(`${server.url}/api/a2a`, stream()), traceId)
    expectOwnSpan(await metadataOf(`${server.url}/api/a2a`, stream(), {}))
    expectOwnSpan(await metadataOf(`${server.url}/v1/message:stream`, restBody()), traceId)
  })

  it('REST callers without a trace, and callers of other dialects, get no trace metadata', async () => {
    const { server } = await startTestServer(work)
    const plain = [
      ...(await metadataOf(server.url, stream())),
      ...(await metadataOf(`${server.url}/v1/message:stream`, restBody(), {})),
    ]
    expect(plain.length).toBeGreaterThan(3)
    for (const metadata of plain) expect(metadata ?? {}).not.toHaveProperty('traceId')
  })

  it('a house client that reads the task later gets trace metadata in every event, and turns continue the span', async () => {
    const seen: (Trace | undefined)[] = []
    const { server } = await startTestServer(
      async (turn) => {
        seen.push(turn.trace)
        await turn.requireInput('Which?')
      },
      { dialects: { house: { holdStreamOnInput: false } } },
    )
    const [task] = await eventsOf(`${server.url}/api/a2a`, stream())
    expect(seen[0]?.traceparent).toBe(`00-${task.metadata.traceId}-${task.metadata.spanId}-01`)
    expect(seen[0]?.tracestate).toBe(trace.tracestate)
    const reading = metadataOf(`${server.url}/api/a2a`, call('tasks/get', { taskId: task.id }))
    await eventsOf(`${server.url}/api/a2a`, call('tasks/cancel', { id: task.id }))
    const read = await reading
    expect(read.length).toBeGreaterThan(0)
    for (const metadata of read) expect(metadata.traceId).toBe(traceId)
  })

  it('traceMetadata enables or disables trace metadata in every dialect', async () => {
    const every = await startTestServer(work, { dialects: { traceMetadata: true } })
    expectOwnSpan(await metadataOf(every.server.url, stream()), traceId)
    const none = await startTestServer(work, { dialects: { traceMetadata: false } })
    for (const metadata of await metadataOf(`${none.server.url}/api/a2a`, stream())) {
      expect(metadata ?? {}).not.toHaveProperty('traceId')
    }
  })
})

it('the trace is passed to mesh peers in HTTP headers', async () => {
  const seen: (Trace | undefined)[] = []
  const { shop, price } = await meshPair({
    methods: {
      price: (_, call) => {
        seen.push(call.trace)
        return {}
      },
    },
  })
  const { endpoint } = await startMeshServer(price)
  const link = shop.link({ agentId: 'price-agent', endpoint })
  await link.request('price', {}, { trace })
  await link.request('price', {}, { trace: { traceparent: 'nonsense' } })
  await link.request('price', {})
  expect(seen).toEqual([trace, undefined, undefined])
})
