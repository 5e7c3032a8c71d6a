import { describe, expect, it } from 'vitest'
import { countingAgent, describeEvent, taskIdOf } from '../../test/contracts/service/contract.ts'
import { collect, deferred } from '../../test/support/async.ts'
import { agentRoute, cardRoute, createLocalHandler, fakePeer } from '../../test/support/servers/local-handler.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { connect } from './connect.ts'
import type { ConnectOptions, Local, Notice } from './options.ts'

const quick = { minDelay: 1, maxDelay: 2 }

async function open(peer: Local, options: ConnectOptions = {}) {
  const notices: Notice[] = []
  const onNotice = (notice: Notice) => notices.push(notice)
  const client = await connect(peer, { retry: quick, resume: quick, polling: quick, onNotice, ...options })
  return { client, typesOf: () => notices.map(({ type }) => type) }
}

function cardAt(url: string, protocolBinding: string, more: object = {}, protocolVersion = '1.0') {
  return { name: 'Test', supportedInterfaces: [{ url, protocolBinding, protocolVersion }], ...more }
}

const rpc = (code: number) => async (request: Request) => {
  const { id, method } = JSON.parse((await request.text()) || '{}')
  const isStream = /stream|subscribe/i.test(`${method}`)
  return isStream ? Response.json({ jsonrpc: '2.0', id, error: { code, message: 'no streams' } }) : undefined
}

describe('an agent that does not stream', () => {
  const counted = ['task working', 'artifact one|two|three', 'status completed: Counted']

  it.each([
    ['says its card', { capabilities: { streaming: false } }, []],
    ['says its answer', {}, [rpc(-32004)]],
    ['does not know the method', {}, [rpc(-32601)]],
  ])('is polled: so %s', async (_, more, answers) => {
    const go = deferred()
    const handler = createLocalHandler(async (turn) => {
      await turn.status('working')
      await go.promise
      await countingAgent(turn)
    })
    const wire = cardAt('http://localhost/', 'JSONRPC', more)
    const { client, typesOf } = await open(fakePeer(cardRoute(wire), ...answers, agentRoute(handler)))
    const told: string[] = []
    for await (const event of client.stream('count')) {
      told.push(describeEvent(event))
      go.resolve()
    }
    expect(told.filter((words) => !words.includes('Counting'))).toEqual(counted)
    expect(typesOf()).toEqual(['polling'])
  })

  it('is also polled for a task that somebody follows', async () => {
    const handler = createLocalHandler(countingAgent)
    const { client } = await open(fakePeer(rpc(-32004), handler.fetch))
    const { task } = await client.send('count')
    const events = await collect(client.task(task?.id ?? '').subscribe())
    expect(events.map(describeEvent)).toEqual(['task completed'])
    expect((await client.task(task?.id ?? '').wait()).text).toBe('onetwothree')
  })

  it('may answer with a message', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] }
    const answer = () => Response.json({ jsonrpc: '2.0', id: 1, result: { message } })
    const { client } = await open(fakePeer(cardRoute(cardAt('http://localhost/', 'JSONRPC')), rpc(-32004), answer))
    expect((await collect(client.stream('hello'))).map(describeEvent)).toEqual(['message: hi'])
  })

  it('still refuses what it cannot do', async () => {
    const { client } = await open(fakePeer(rpc(-32004), createLocalHandler(countingAgent).fetch))
    await expect(collect(client.stream('more', { taskId: 'nobody-knows' }))).rejects.toMatchObject({
      code: 'task-not-found',
    })
  })

  it('is told from one that refuses this stream', async () => {
    const { client, typesOf } = await open(createLocalHandler(countingAgent))
    const { task } = await client.send('count')
    await expect(collect(client.stream('more', { taskId: task?.id ?? '' }))).rejects.toMatchObject({
      code: 'unsupported-operation',
    })
    expect((await collect(client.stream('count'))).length).toBeGreaterThan(3)
    expect(typesOf()).toEqual([])
  })

  it('may answer a call for a stream with all there is', async () => {
    const handler = createLocalHandler(countingAgent)
    const unary = async (request: Request) => {
      const text = await request.text()
      if (!text.includes('SendStreamingMessage')) return undefined
      const body = text.replace('SendStreamingMessage', 'SendMessage')
      return await handler.fetch(new Request(request.url, { method: 'POST', body, headers: request.headers }))
    }
    const { client } = await open(fakePeer(unary, handler.fetch))
    expect((await collect(client.stream('count'))).map(describeEvent)).toEqual(['task completed'])
  })
})

describe('an agent over REST', () => {
  it('may want to be subscribed to by GET, which is remembered', async () => {
    const refusing = (request: Request) =>
      request.method === 'POST' && request.url.endsWith(':subscribe') ? new Response('', { status: 405 }) : undefined
    const peer = fakePeer(refusing, createLocalHandler(countingAgent).fetch)
    const { client } = await open(peer, { bindings: ['HTTP+JSON'] })
    const first = client.stream('wait')
    const id = taskIdOf((await first.next()).value as StreamEvent)
    for (const _ of [1, 2]) {
      const events = client.task(id).subscribe()
      expect(describeEvent((await events.next()).value as StreamEvent)).toBe('task working')
      await events.return(undefined)
    }
    expect(peer.asked.filter((each) => each.includes(':subscribe'))).toEqual([
      `POST /tasks/${id}:subscribe`,
      `GET /tasks/${id}:subscribe`,
      `GET /tasks/${id}:subscribe`,
    ])
    await first.return(undefined)
  })

  it.each([
    ['http://localhost/v1', '0.3', 'v0.3-proto'],
    ['http://localhost', '0.3', 'v0.3-proto'],
    ['http://localhost/v1', '1.0', 'v1.0'],
    ['http://localhost/', '1.0', 'v1.0'],
  ] as const)('may be at %s or beside it (A2A %s)', async (url, version, spoken) => {
    const handler = createLocalHandler(countingAgent, { dialects: [spoken] })
    const { client } = await open(fakePeer(cardRoute(cardAt(url, 'HTTP+JSON', {}, version)), agentRoute(handler)))
    expect((await client.send('hello')).text).toBe('hi')
    expect((await client.send('count')).text).toBe('onetwothree')
    expect(client.explain().endpoint).toMatchObject({ dialect: spoken })
  })

  it('is told from one that has no such task', async () => {
    const { client } = await open(createLocalHandler(countingAgent), { bindings: ['HTTP+JSON'] })
    await expect(client.task('nobody-knows').get()).rejects.toMatchObject({ code: 'task-not-found' })
  })
})

describe('an address that only its author can reach', () => {
  it('is looked for beside the card', async () => {
    const handler = createLocalHandler(countingAgent, { path: '/rpc' })
    const wire = cardAt('http://127.0.0.1:1234/rpc', 'JSONRPC')
    const unreachable = (request: Request) => {
      if (request.url.includes('localhost')) return undefined
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(''), { code: 'ECONNREFUSED' }) })
    }
    const { client, typesOf } = await open(fakePeer(unreachable, cardRoute(wire), agentRoute(handler)))
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint?.url).toBe('http://localhost/rpc')
    expect(typesOf()).toEqual(['fallback-endpoint'])
  })

  it('is given up if nobody is there either', async () => {
    const wire = cardAt('http://localhost/rpc', 'JSONRPC')
    const { client } = await open(fakePeer(cardRoute(wire)))
    await expect(client.send('hello')).rejects.toMatchObject({
      code: 'method-not-found',
      reason: 'wrong-path',
      url: 'http://localhost/rpc',
      status: 404,
      hint: expect.stringContaining('correct the path'),
    })
  })
})

describe('of several interfaces', () => {
  it('the next one is taken if the first is not there', async () => {
    const wire = {
      name: 'Test',
      supportedInterfaces: [
        { url: 'localhost:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' },
        { url: 'http://localhost/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: 'http://localhost', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
    }
    const { client } = await open(fakePeer(cardRoute(wire), agentRoute(createLocalHandler(countingAgent))))
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint).toMatchObject({ binding: 'HTTP+JSON' })
  })

  it('none may be one that can be used', async () => {
    const wire = cardAt('localhost:50051', 'GRPC')
    await expect(connect(fakePeer(cardRoute(wire)))).rejects.toMatchObject({ reason: 'no-common-interface' })
  })
})
