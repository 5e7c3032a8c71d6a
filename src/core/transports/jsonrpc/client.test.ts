import { describe, expect, it } from 'vitest'
import { callOf, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect } from '../../../../test/support/async.ts'
import { v0_3Client } from '../../dialects/v0.3/client.ts'
import { v1_0Client } from '../../dialects/v1.0/client.ts'
import type { WireClientOptions } from '../client/http-client.ts'
import { createJsonRpcClient } from './client.ts'

const url = 'http://a.test/rpc'
const send = { message: messageOf('hi') }

function clientOf(answer: (request: Request) => Response, options: Partial<WireClientOptions> = {}) {
  const requests: Request[] = []
  const service = createJsonRpcClient({
    url,
    dialect: v1_0Client,
    async fetch(address, init) {
      const request = new Request(address, init)
      requests.push(request)
      return answer(request.clone())
    },
    ...options,
  })
  return { service, requests }
}

const json = (body: unknown, init?: ResponseInit) => () => Response.json(body, init)
const task = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_COMPLETED' } }
const stream = (text: string) => () => new Response(text, { headers: { 'content-type': 'text/event-stream' } })

describe('a JSON-RPC request', () => {
  it('a request has the version, extensions, idempotency key, tenant and last event id', async () => {
    const extensions = ['https://a.test/1', 'https://a.test/2']
    const { service, requests } = clientOf(json({ jsonrpc: '2.0', id: 1, result: { task } }), {
      extensions,
      tenant: 'x',
    })
    await service.sendMessage(send, callOf({ idempotencyKey: 'k' }))
    await collect(service.subscribeToTask({ taskId: 't', after: 7 }, callOf())).catch(() => {})
    const [sent, subscribed] = requests
    expect(Object.fromEntries(sent?.headers ?? [])).toMatchObject({
      'a2a-version': '1.0',
      'a2a-extensions': 'https://a.test/1, https://a.test/2',
      'idempotency-key': 'k',
      'content-type': 'application/json',
    })
    expect(await sent?.json()).toMatchObject({ jsonrpc: '2.0', method: 'SendMessage', params: { tenant: 'x' } })
    expect(subscribed?.headers.get('last-event-id')).toBe('7')
    expect(subscribed?.headers.get('accept')).toBe('text/event-stream')
  })

  it('every request has its own id', async () => {
    const { service, requests } = clientOf(json({ jsonrpc: '2.0', result: task }))
    await service.getTask({ taskId: 't' }, callOf())
    await service.getTask({ taskId: 't' }, callOf())
    const ids = await Promise.all(requests.map(async (request) => (await request.json()).id))
    expect(new Set(ids).size).toBe(2)
  })
})

describe('a JSON-RPC response', () => {
  it('a response to another call is rejected, in a stream as well', async () => {
    const foreign = { jsonrpc: '2.0', id: 77, result: task }
    const rejection = {
      code: 'invalid-agent-response',
      reason: 'foreign-id',
      message: expect.stringContaining('the id is "77" instead of 1'),
    }
    const unary = clientOf(json(foreign)).service.getTask({ taskId: 't' }, callOf())
    await expect(unary).rejects.toMatchObject(rejection)
    const events = clientOf(stream(`data: ${JSON.stringify({ ...foreign, result: { task } })}\n\n`)).service
    await expect(collect(events.streamMessage(send, callOf()))).rejects.toMatchObject(rejection)
  })

  it.each(['1', 1, null, undefined])('the id %j is accepted for the call 1', async (id) => {
    const { service } = clientOf(json({ jsonrpc: '2.0', id, result: task }))
    expect(await service.getTask({ taskId: 't' }, callOf())).toMatchObject({ id: 't' })
  })

  it('a stream of heartbeats without a first event is ended', async () => {
    const heartbeats = () => {
      let timer: ReturnType<typeof setInterval>
      const body = new ReadableStream({
        start: (controller) => {
          timer = setInterval(() => controller.enqueue(new TextEncoder().encode(': heartbeat\n\n')), 5)
        },
        cancel: () => clearInterval(timer),
      })
      return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    }
    const { service } = clientOf(heartbeats, { idle: 5_000, openWithin: 50 })
    await expect(collect(service.streamMessage(send, callOf()))).rejects.toMatchObject({ reason: 'silent' })
  })

  it('a response without a result is enough for an operation without one', async () => {
    for (const answer of [
      json({ jsonrpc: '2.0', id: 1 }),
      json({ jsonrpc: '2.0', id: 1, result: null }),
      () => new Response(),
    ]) {
      const { service } = clientOf(answer, { dialect: v0_3Client })
      await expect(service.deletePushConfig({ taskId: 't', id: 'c' }, callOf())).resolves.toBeUndefined()
      await expect(service.getTask({ taskId: 't' }, callOf())).rejects.toMatchObject({ code: 'invalid-agent-response' })
    }
  })

  it('a response may have an error that is null', async () => {
    const { service } = clientOf(json({ jsonrpc: '2.0', id: 1, error: null, result: { task } }))
    expect(await service.sendMessage(send, callOf())).toMatchObject({ type: 'task' })
  })

  it.each([
    [{ code: -32001, message: 'Task not found' }, 200, 'task-not-found'],
    [{ code: -32001, message: 'Task not found' }, 404, 'task-not-found'],
    [{ code: -32603, message: 'Expired' }, 401, 'unauthenticated'],
    [{ code: -32603, message: 'Busy' }, 503, 'unavailable'],
    [{ code: -32603, message: 'Task not found: x' }, 200, 'task-not-found'],
    [{ code: -32603, message: 'Oh' }, 500, 'internal'],
    [{ code: 12, message: 'Oh' }, 200, 'internal'],
  ])('an error %j with status %d is %s', async (error, status, code) => {
    const { service } = clientOf(json({ jsonrpc: '2.0', id: 1, error }, { status, headers: { 'retry-after': '3' } }))
    await expect(service.getTask({ taskId: 't' }, callOf())).rejects.toMatchObject({
      code,
      status,
      message: error.message,
      retryAfter: 3,
      dialect: 'v1.0',
      binding: 'JSONRPC',
      url,
    })
  })

  it('an error that is not JSON-RPC is a wrong path', async () => {
    const { service } = clientOf(json({ error: { message: 'No route' } }, { status: 404 }))
    await expect(service.getTask({ taskId: 't' }, callOf())).rejects.toMatchObject({ reason: 'wrong-path' })
  })
})

describe('a JSON-RPC stream', () => {
  const follow = (text: string) => collect(clientOf(stream(text)).service.streamMessage(send, callOf()))

  it('event ids that count events become generations', async () => {
    const data = `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { task: { ...task, status: { state: 'TASK_STATE_WORKING' } } } })}\n\n`
    const events = await follow(`id: 3\n${data}id: 1763245000000\n${data}id: x\n${data}${data}`)
    expect(events.map((event) => (event.type === 'task' ? event.task.generation : -1))).toEqual([3, 0, 0, 0])
  })

  it('an error event of any name fails the stream', async () => {
    const error = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'Gone' } })
    for (const text of [
      `data: ${error}\n\n`,
      `event: error\ndata: ${error}\n\n`,
      'event: error\ndata: {"code":-32001,"message":"Gone"}\n\n',
    ]) {
      await expect(follow(text)).rejects.toMatchObject({ code: 'task-not-found', message: 'Gone' })
    }
  })

  it('events without an envelope are read, and empty ones are skipped', async () => {
    expect(await follow(`data:\n\ndata: ${JSON.stringify({ task })}\n\n`)).toMatchObject([
      { type: 'task', isLast: true },
    ])
  })
})
