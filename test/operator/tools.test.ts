import { describe, expect, it, onTestFinished } from 'vitest'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { agent, serve } from '../../src/entries/index.ts'
import { configuredKeys, createMeshPeer, generateSigningKey } from '../../src/entries/mesh.ts'
import { servePeer } from '../../src/entries/node.ts'
import {
  createOperatorClient,
  type OperatorClient,
  type WireFrame,
  type WireRequest,
} from '../../src/entries/operator.ts'
import { floorMinute, percentileOf, rollUpMinutes } from '../../src/operator/minutes.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { createTask, status } from '../../src/testing/stores/task-log/fixtures.ts'
import { silentLogger } from '../support/logger.ts'
import { meshCard } from '../support/mesh/mesh-peers.ts'
import { browserCookie, operatorOf } from '../support/servers/operator-login.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const worker = agent({ name: 'Worker' }, async (turn) => {
  if (turn.text === 'fail') throw new Error('broken')
  await turn.status('working', 'Working')
  if (turn.text === 'wait') await turn.ask('Go on?')
  if (turn.text === 'secret') {
    await turn.ask('The PIN?', { sensitive: true })
    return
  }
  await turn.status('completed', `Done: ${turn.text}`)
})

async function serveWith(options: ServeOptions, directory?: string) {
  const server = await serve(worker, {
    ...{ signals: false, directory: directory ?? (await temporaryDirectory()), logger: silentLogger, drainDeadline: 0 },
    ...options,
  })
  onTestFinished(() => server.close())
  return { server }
}

async function start(options: ServeOptions = {}, directory?: string) {
  const { server } = await serveWith(options, directory)
  return { server, client: await connect(server.url), operator: operatorOf(server) }
}

async function collect<T>(items: AsyncIterable<{ readonly value: T }>): Promise<T[]> {
  const all: T[] = []
  for await (const { value } of items) all.push(value)
  return all
}

async function eventually<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + 15_000; Date.now() < end; ) {
    const value = await read()
    if (value !== undefined) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error('It did not happen in time.')
}

describe('the wire log', () => {
  it('has what the chat and the wire page send, and no answer to a sensitive question', async () => {
    const { server, operator } = await start()
    const { name, value } = await browserCookie(server, server.url)
    const client = await connect(`${server.url}/console/a2a/worker`, {
      fetch: (url, init) =>
        fetch(url, {
          ...init,
          headers: { ...Object.fromEntries(new Headers(init.headers)), cookie: `${name}=${value}` },
        }),
    })
    for await (const _ of client.stream('hello')) {
      // Read to its end.
    }
    const request = await operator.composeWire({
      ...{ agent: 'worker', dialect: '0.3', binding: 'JSONRPC', operation: 'getTask', taskId: 'none' },
    })
    await collect(operator.sendWire(request))
    const asked = await client.send('secret')
    await client.send('hunter-two', { taskId: asked.task?.id ?? '' })
    const { exchanges } = await operator.wireLog({ agent: 'worker' })
    expect(exchanges.map(({ operation, source, version }) => [operation, source, version]).toReversed()).toEqual([
      ['SendStreamingMessage', 'client', '1.0'],
      ['tasks/get', 'wire', '0.3'],
      ['SendMessage', 'client', '1.0'],
      ['SendMessage', 'client', '1.0'],
    ])
    const stream = await operator.wireExchange(exchanges.at(-1)?.id ?? 0)
    expect(stream.url).toBe(server.url)
    expect(stream.request.body).toContain('hello')
    expect(stream.events.at(-1)?.text).toContain('Done: hello')
    const all = await Promise.all(exchanges.map(({ id }) => operator.wireExchange(id)))
    expect(JSON.stringify(all)).not.toContain('hunter-two')
    expect(JSON.stringify(await operator.wireHar())).not.toContain('hunter-two')
    await expect(operator.wireExchange(9_999)).rejects.toMatchObject({ status: 404 })
    await expect(operator.wireLog({ source: 'other' as 'wire' })).rejects.toMatchObject({ status: 400 })
    await expect(operator.connect({ url: 'http://169.254.169.254' })).rejects.toMatchObject({ status: 404 })
  })
})

it('a conformance run leaves no open tasks and no webhooks behind, and asks no operator', async () => {
  const { server, client, operator } = await start({ push: {} })
  const { conformance } = await import('../../src/entries/testing.ts')
  await conformance(server.url, {
    versions: ['1.0'],
    bindings: ['JSONRPC'],
    texts: { task: 'hello', inputRequired: 'wait', longRunning: 'wait' },
  })
  const { total } = await operator.tasks()
  expect(total).toBeGreaterThan(3)
  expect((await operator.tasks({ state: 'submitted,working,input-required,auth-required' })).tasks).toEqual([])
  expect((await operator.webhooks()).webhooks).toEqual([])

  // While it runs, its questions are not for people.
  const call = { principal: { id: 'x' }, signal: new AbortController().signal }
  const message = { role: 'user' as const, parts: [{ text: 'wait' }] }
  await client.service.sendMessage({ message: { ...message, messageId: 'conformance-1' } }, call)
  await client.service.sendMessage({ message: { ...message, messageId: 'another-1' } }, call)
  expect((await operator.tasks({ state: 'input-required' })).total).toBe(2)
  expect((await operator.inbox()).items).toHaveLength(1)
})

describe('the overview', () => {
  it('counts tasks, throughput and durations, and survives a restart', async () => {
    const directory = await temporaryDirectory()
    const first = await start({}, directory)
    await first.client.send('a')
    await first.client.send('b')
    await first.client.send('fail').catch(() => {})
    const before = await first.operator.overview('hour')
    expect(before.total.tasks).toEqual({ completed: 2, failed: 1 })
    expect(before.total.points).toHaveLength(60)
    const sum = (name: 'started' | 'completed' | 'failed') =>
      before.total.points.reduce((all, point) => all + point[name], 0)
    expect([sum('started'), sum('completed'), sum('failed')]).toEqual([3, 2, 1])
    expect(before.total.points.at(-1)?.p50 ?? before.total.points.at(-2)?.p50).toBeGreaterThanOrEqual(0)
    expect(before.agents).toMatchObject([{ agent: 'worker', store: { kind: 'SQLite', bytes: expect.any(Number) } }])
    await first.server.close()
    const again = await start({}, directory)
    const { total } = await again.operator.overview('day')
    expect(total.points).toHaveLength(96)
    expect(total.points.reduce((all, { started }) => all + started, 0)).toBe(3)
    await expect(again.operator.overview('week' as 'day')).rejects.toMatchObject({ status: 400 })
  })

  it('a minute is stored once it has passed, and stays when its tasks are gone', async () => {
    const log = createMemoryLog()
    const now = Date.now()
    const then = floorMinute(now) - 10 * 60_000
    for (let at = 0; at < 100; at++) await createTask(log, {}, status('completed', then + at))
    await rollUpMinutes(log.operator, now)
    await rollUpMinutes(log.operator, now)
    const minutes = await log.operator.minutes(0)
    expect(minutes.find(({ minute }) => minute === then)).toMatchObject({ completed: 100 })
    await log.expire(now, 1_000)
    await rollUpMinutes(log.operator, now + 60_000)
    expect((await log.operator.minutes(0)).find(({ minute }) => minute === then)).toMatchObject({ completed: 100 })
  })

  it('percentiles of merged durations are exact to a twentieth', () => {
    const durations: Record<string, number> = {}
    for (let value = 1; value <= 1_000; value++) {
      const bucket = Math.floor(Math.log(value + 1) / Math.log(1.1))
      durations[bucket] = (durations[bucket] ?? 0) + 1
    }
    for (const share of [0.5, 0.95, 0.99]) {
      expect(Math.abs((percentileOf(durations, share) ?? 0) / (share * 1_000) - 1)).toBeLessThan(0.06)
    }
    expect(percentileOf({}, 0.5)).toBeUndefined()
  })
})

describe('webhooks', () => {
  async function register(operator: OperatorClient, client: Awaited<ReturnType<typeof connect>>) {
    const receiver = await operator.createReceiver()
    void client.send('wait').catch(() => {})
    const task = await eventually(async () => (await operator.tasks({ state: 'input-required' })).tasks[0])
    const config = { taskId: task.taskId, url: receiver.url, token: receiver.token }
    await client.service.createPushConfig(config, { principal: { id: 'x' }, signal: new AbortController().signal })
    const { webhooks } = await operator.webhooks()
    const [webhook] = webhooks
    if (!webhook) throw new Error('no webhook')
    return { receiver, task, webhook }
  }

  it('webhooks are listed without their tokens, paused, resumed and delivered to the built-in receiver', async () => {
    const { client, operator } = await start({ push: {} })
    const { receiver, task, webhook } = await register(operator, client)
    expect(webhook).toMatchObject({ agent: 'worker', state: 'active', principal: 'anonymous', url: receiver.url })
    expect(JSON.stringify(webhook)).not.toContain(receiver.token)
    expect((await operator.pauseWebhook(webhook)).webhook.state).toBe('paused')
    await expect(operator.pauseWebhook(webhook)).rejects.toMatchObject({ status: 409 })
    expect((await operator.resumeWebhook(webhook)).webhook.state).toBe('active')
    const abort = new AbortController()
    const deliveries = operator.receivedDeliveries(receiver.id, abort.signal)
    const arriving = deliveries.next()
    await operator.answer(task, { parts: [{ text: 'yes' }] })
    const { value } = await arriving
    expect(value?.value).toMatchObject({ verdict: 'Its token is right.' })
    expect(JSON.stringify(value)).not.toContain(receiver.token)
    abort.abort()
    const delivered = await eventually(async () => {
      const found = (await operator.deliveries(webhook)).deliveries
      return found.some(({ outcome }) => outcome === 'delivered') ? found : undefined
    })
    expect(delivered[0]).toMatchObject({ status: 204, attempts: 1 })
    expect((await operator.redeliver(webhook)).redelivered).toBe(0)
    await expect(operator.deliveries({ ...webhook, id: 'none' })).rejects.toMatchObject({ status: 404 })
    await expect(operator.webhooks({ cursor: 'x' })).rejects.toMatchObject({ status: 400 })
  })

  it('a receiver refuses what is no delivery', async () => {
    const { server, operator } = await start({ push: {} })
    const { url } = await operator.createReceiver()
    expect((await fetch(url, { method: 'POST', body: 'x'.repeat(300_000) })).status).toBe(413)
    expect((await fetch(url, { method: 'POST', body: new Uint8Array([255, 254]) })).status).toBe(400)
    expect((await fetch(url)).status).toBe(405)
    expect(await (await fetch(`${url}?validationToken=abc`)).text()).toBe('abc')
    expect((await fetch(`${url}?validationToken=<script>`)).status).toBe(405)
    expect((await fetch(`${server.url}/console/receivers/none`, { method: 'POST' })).status).toBe(404)
  })
})

describe('the wire', () => {
  it.each(['1.0', '0.3', '0.2', '0.1'] as const)('a request of %s is composed, sent and answered', async (dialect) => {
    const { operator } = await start()
    const compose = { agent: 'worker', dialect, operation: 'sendMessage', text: 'raw' }
    for (const binding of ['JSONRPC', 'REST'] as const) {
      if (binding === 'REST' && (dialect === '0.2' || dialect === '0.1')) {
        await expect(operator.composeWire({ ...compose, binding })).rejects.toMatchObject({ status: 400 })
        continue
      }
      const request = await operator.composeWire({ ...compose, binding })
      const frames = await collect(operator.sendWire(request))
      expect(frames[0]).toMatchObject({ type: 'head', status: 200 })
      expect(frames.map((frame) => ('text' in frame ? frame.text : '')).join('')).toContain('Done: raw')
      expect(frames.at(-1)).toMatchObject({ type: 'end' })
    }
  })

  it('a stream is shown as it arrives, and broken requests are answered by the agent', async () => {
    const { operator } = await start()
    const request = await operator.composeWire({
      agent: 'worker',
      dialect: '1.0',
      binding: 'JSONRPC',
      operation: 'streamMessage',
    })
    const text = (await collect(operator.sendWire(request)))
      .map((frame) => ('text' in frame ? frame.text : ''))
      .join('')
    expect(text).toContain('data: ')
    const broken = await collect(operator.sendWire({ ...request, body: '{' }))
    expect(broken.map((frame) => ('text' in frame ? frame.text : '')).join('')).toContain('-32700')
    await expect(collect(operator.sendWire({ ...request, url: 'http://evil.example/' }))).rejects.toMatchObject({
      status: 400,
    })
    await expect(collect(operator.sendWire({ ...request, agent: 'none' }))).rejects.toMatchObject({ status: 404 })
    await expect(collect(operator.sendWire({ ...request, binding: 'GRPC' }))).rejects.toMatchObject({ status: 501 })
    const unserved = { agent: 'worker', dialect: '1.0', binding: 'GRPC', operation: 'sendMessage' } as const
    await expect(operator.composeWire(unserved)).rejects.toMatchObject({ status: 501 })
    const other = { agent: 'worker', dialect: '0.1', binding: 'JSONRPC', operation: '__proto__' } as const
    await expect(operator.composeWire(other)).rejects.toMatchObject({ status: 400 })
  })

  describe('over gRPC', () => {
    const chunksOf = (frames: readonly WireFrame[]) =>
      frames.flatMap((frame) => (frame.type === 'chunk' ? [JSON.parse(frame.text)] : []))

    it.each([
      ['1.0', 'lf.a2a.v1.A2AService/SendMessage'],
      ['0.3', 'a2a.v1.A2AService/SendMessage'],
    ] as const)('a message of %s is composed, sent and answered', async (dialect, url) => {
      const { operator } = await start({ grpc: true })
      expect((await operator.session()).server.features).toContain('grpc')
      const compose = { agent: 'worker', dialect, binding: 'GRPC', operation: 'sendMessage', text: 'raw' } as const
      const request = await operator.composeWire(compose)
      expect(request.url).toBe(url)
      const frames = await collect(operator.sendWire(request))
      expect(frames.map(({ type }) => type)).toEqual(['head', 'chunk', 'end'])
      expect(frames[0]).toMatchObject({ status: 200, headers: { 'grpc-status': '0' } })
      expect(JSON.stringify(chunksOf(frames))).toContain('Done: raw')
      expect(frames[2]).not.toHaveProperty('error')
    })

    it('a stream is one chunk per message', async () => {
      const { operator } = await start({ grpc: true })
      const compose = { agent: 'worker', dialect: '1.0', binding: 'GRPC', operation: 'streamMessage' } as const
      const frames = await collect(operator.sendWire(await operator.composeWire(compose)))
      const chunks = chunksOf(frames)
      expect(chunks.length).toBeGreaterThan(1)
      expect(chunks[0]).toHaveProperty('task')
      expect(chunks.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } })
      expect(frames.at(-1)).toEqual({ type: 'end', at: expect.any(Number) })
    })

    it('a failed call ends with its status, and a broken one with what was expected', async () => {
      const { operator } = await start({ grpc: true })
      const compose = {
        agent: 'worker',
        dialect: '1.0',
        binding: 'GRPC',
        operation: 'getTask',
        taskId: 'none',
      } as const
      const request = await operator.composeWire(compose)
      const missing = await collect(operator.sendWire(request))
      expect(missing[0]).toMatchObject({ type: 'head', headers: { 'grpc-status': '5' } })
      expect(missing[1]).toMatchObject({ type: 'end', error: expect.stringContaining('5 NOT_FOUND: ') })
      const errorOf = async (change: Partial<WireRequest>) => {
        const [only, ...others] = await collect(operator.sendWire({ ...request, ...change }))
        expect(others).toEqual([])
        return only?.type === 'end' ? only.error : undefined
      }
      expect(await errorOf({ body: '{' })).toContain('The body is not the JSON of a lf.a2a.v1.GetTaskRequest: ')
      expect(await errorOf({ body: '{"name": 1}' })).toContain('lf.a2a.v1.GetTaskRequest: ')
      expect(await errorOf({ url: 'lf.a2a.v1.A2AService/Get' })).toContain('lf.a2a.v1.A2AService has SendMessage, ')
      expect(await errorOf({ url: 'http://evil.example/' })).toContain('expected a service and a method')
      const without = { ...compose, dialect: '0.2' } as const
      await expect(operator.composeWire(without)).rejects.toMatchObject({ status: 400 })
    })

    it('the caller is the principal of the session, with a deadline as well', async () => {
      const keys = [{ id: 'ada', hash: await hashApiKey('ada-secret-key-1') }]
      const auth = { schemes: { key: apiKey({ keys }) } }
      const { server } = await serveWith({ grpc: true, auth, console: { auth } })
      const operator = createOperatorClient({
        url: `${server.url}/console`,
        headers: { 'x-api-key': 'ada-secret-key-1' },
      })
      const compose = { agent: 'worker', dialect: '1.0', binding: 'GRPC', operation: 'sendMessage' } as const
      const request = await operator.composeWire(compose)
      await collect(operator.sendWire({ ...request, headers: { ...request.headers, 'grpc-timeout': '9S' } }))
      expect((await operator.tasks()).tasks).toMatchObject([{ principal: { id: 'ada' } }])
    })
  })
})

describe('the mesh', () => {
  it('the mesh page shows sessions and the last envelopes without payloads, in both directions', async () => {
    const [ownKey, shopKey] = await Promise.all([generateSigningKey(), generateSigningKey()])
    const { server, operator } = await start({
      mesh: {
        key: ownKey,
        keys: await configuredKeys({ 'shop-agent': shopKey.jwk }),
        methods: { secret: () => ({ text: 'payload' }) },
      },
    })
    expect((await operator.session()).server.features).toContain('mesh')
    const self = { id: 'worker', url: `${server.url}/mesh`, fingerprint: ownKey.fingerprint }
    expect(await operator.mesh()).toEqual({ self, peers: [], envelopes: [] })
    const shop = await servePeer({
      card: { agent_id: 'shop-agent' },
      key: shopKey,
      keys: await configuredKeys({ worker: ownKey.jwk }),
      methods: { pay: () => ({ paid: true }) },
      logger: silentLogger,
    })
    onTestFinished(() => shop.close())
    const link = shop.peer.link({ agentId: 'worker', endpoint: self.url })
    await link.handshake()
    await link.request('secret')
    await expect(link.request('none')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await server.mesh?.link({ agentId: 'shop-agent', endpoint: shop.endpoint }).request('pay')
    const { peers, envelopes } = await operator.mesh()
    expect(peers).toEqual([
      {
        ...{ id: 'shop-agent', url: shop.endpoint, state: 'established' },
        ...{ since: expect.any(Number), lastSeen: expect.any(Number), process: expect.any(String) },
      },
    ])
    expect(envelopes.map(({ direction, type }) => `${direction} ${type}`).reverse()).toEqual([
      ...['in handshake', 'out handshake_ack', 'in request', 'out response'],
      ...['in request', 'out error', 'out request', 'in response'],
    ])
    expect(envelopes.filter(({ problem }) => problem?.startsWith('NOT_FOUND: '))).toHaveLength(2)
    expect(JSON.stringify(envelopes)).not.toContain('payload')
    await link.goodbye()
    expect((await operator.mesh()).peers).toMatchObject([{ state: 'goodbye', url: shop.endpoint }])
  })

  it('100 envelopes are kept, and rejected or unanswered ones are marked', async () => {
    const [ownKey, shopKey, strangeKey] = await Promise.all([0, 1, 2].map(() => generateSigningKey()))
    if (!ownKey || !shopKey || !strangeKey) throw new Error('a key is missing')
    const keys = await configuredKeys({ 'shop-agent': shopKey.jwk })
    const { server, operator } = await start({ mesh: { key: ownKey, keys } })
    const stranger = createMeshPeer({
      ...{ card: meshCard('shop-agent'), key: strangeKey, logger: silentLogger },
      keys: await configuredKeys({ worker: ownKey.jwk }),
    })
    const link = stranger.link({ agentId: 'worker', endpoint: `${server.url}/mesh` })
    await expect(link.handshake()).rejects.toMatchObject({ code: 'AUTHENTICATION_FAILED' })
    const rejected = await operator.mesh()
    expect(rejected.peers).toEqual([])
    expect(rejected.envelopes[1]).toMatchObject({ problem: expect.stringContaining('AUTHENTICATION_FAILED: ') })
    const closed = server.mesh?.link({ agentId: 'shop-agent', endpoint: 'http://127.0.0.1:1/mesh', timeout: 500 })
    await expect(closed?.request('pay')).rejects.toThrow()
    const [unanswered] = (await operator.mesh()).envelopes
    expect(unanswered).toMatchObject({ direction: 'out', peer: 'shop-agent', problem: expect.any(String) })
    for (let count = 0; count < 60; count++) await link.request('none').catch(() => {})
    const { envelopes } = await operator.mesh()
    expect(envelopes).toHaveLength(100)
    expect(envelopes).not.toContainEqual(unanswered)
  })

  it('a server without mesh has no mesh page', async () => {
    const { operator } = await start()
    expect((await operator.session()).server.features).not.toContain('mesh')
    await expect(operator.mesh()).rejects.toMatchObject({ status: 404 })
  })
})

it('conformance runs with live progress and ends with a report', async () => {
  const { operator } = await start()
  const progress = await collect(operator.conformance('worker'))
  expect(progress[0]).toEqual({ type: 'started' })
  expect(progress.filter(({ type }) => type === 'finding').length).toBeGreaterThan(50)
  expect(progress.at(-1)).toMatchObject({ type: 'done', counts: { passed: expect.any(Number) } })
})

it('doctor reports each probe as it begins and each finding as it is made', async () => {
  const { operator } = await start()
  const progress = await collect(operator.doctor('worker'))
  expect(progress.slice(0, 2)).toEqual([{ type: 'started' }, { type: 'probe', title: 'the card', done: 0 }])
  const probes = progress.flatMap((event) => (event.type === 'probe' ? [event] : []))
  const total = probes.at(-1)?.total ?? 0
  expect(probes.at(-1)).toEqual({ type: 'probe', title: 'the network', done: total - 1, total })
  const works = progress.findIndex((event) => event.type === 'finding' && event.finding.title === 'JSONRPC 1.0 works.')
  const next = progress.findIndex((event) => event.type === 'probe' && event.done === 2)
  expect(works).toBeGreaterThan(0)
  expect(next).toBeGreaterThan(works)
  expect(progress.at(-1)).toMatchObject({ type: 'done', report: { name: 'Worker' }, counts: { error: 0 } })
})
