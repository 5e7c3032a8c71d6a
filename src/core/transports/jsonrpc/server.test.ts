import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { v0_1, v0_1Strict } from '../../dialects/v0.1/server.ts'
import { v0_2, v0_2Strict } from '../../dialects/v0.2/server.ts'
import { v0_3, v0_3Strict } from '../../dialects/v0.3/server.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import { BodyTooLarge, type Incoming, type Outgoing } from '../../http/exchange.ts'
import { A2AError, taskNotFound } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import type { Call, Operation, Service } from '../../protocol/service.ts'
import type { WireOptions } from '../server/options.ts'
import { createJsonRpc } from './server.ts'

const timestamp = '2026-05-01T08:00:00.000Z'
const status = { state: 'working', timestamp } as const
const task: Task = { id: 'T', contextId: 'C', status, artifacts: [], history: [], generation: 4 }
const taskOnTheWire = { id: 'T', contextId: 'C', status: { state: 'TASK_STATE_WORKING', timestamp } }
const config = { taskId: 'T', id: 'p', url: 'https://h' }

interface Received {
  readonly operation: Operation
  readonly request: unknown
  readonly call: Call
}

/** Records its calls. The task `gone` is unknown, and the task `broken` throws an unexpected error. */
function scriptedService(received: Received[]): Service {
  const record = (operation: Operation, request: unknown, call: Call) => received.push({ operation, request, call })
  async function* stream(taskId: string | undefined): AsyncGenerator<StreamEvent> {
    if (taskId === 'gone') throw taskNotFound('gone')
    yield { type: 'task', task }
    if (taskId === 'broken') throw new Error('s3cret')
    yield { type: 'status', status: { ...status, state: 'completed' }, taskId: 'T', contextId: 'C', generation: 5 }
  }
  const find = async (taskId: string): Promise<Task> => {
    if (taskId === 'gone') throw taskNotFound('gone')
    if (taskId === 'broken') throw new Error('s3cret')
    if (taskId === 'busy') throw new A2AError('unavailable', 'Come back later.', { retryAfter: 1.5 })
    return task
  }
  return {
    async sendMessage(request, call) {
      record('sendMessage', request, call)
      return { type: 'message', message: { messageId: 'm-2', role: 'agent', parts: [{ text: 'hello' }] } }
    },
    streamMessage(request, call) {
      record('streamMessage', request, call)
      return stream(request.message.taskId)
    },
    async getTask(request, call) {
      record('getTask', request, call)
      return await find(request.taskId)
    },
    async listTasks(request, call) {
      record('listTasks', request, call)
      return { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0, withArtifacts: false }
    },
    async cancelTask(request, call) {
      record('cancelTask', request, call)
      return await find(request.taskId)
    },
    subscribeToTask(request, call) {
      record('subscribeToTask', request, call)
      return stream(request.taskId)
    },
    createPushConfig: async () => config,
    getPushConfig: async () => config,
    listPushConfigs: async () => ({ configs: [config], nextPageToken: '' }),
    deletePushConfig: async () => {},
    async getExtendedCard() {
      throw new A2AError('extended-card-not-configured', 'There is none.')
    },
  }
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body: unknown
}

function open(options: Partial<WireOptions> = {}) {
  const received: Received[] = []
  const reported: unknown[] = []
  const caller = new AbortController()
  const answer = createJsonRpc({
    service: scriptedService(received),
    authenticate: () => ({ id: 'ada' }),
    dialects: [v1_0],
    lastDialect: async () => undefined,
    onError: (error) => reported.push(error),
    ...options,
  })
  let bodiesRead = 0

  async function post({ headers = {}, query = '', body }: Sent): Promise<Outgoing> {
    const bytes = body instanceof Uint8Array ? body : new TextEncoder().encode(textOf(body))
    const all: Record<string, string> = { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers }
    const incoming: Incoming = {
      method: 'POST',
      path: '/',
      query,
      base: '',
      secure: false,
      certificate: () => undefined,
      header: (name) => all[name],
      async bytes(limit) {
        bodiesRead++
        if (bytes.length > limit) throw new BodyTooLarge(limit)
        return bytes
      },
      signal: caller.signal,
    }
    return await answer(incoming)
  }

  async function rpc(body: unknown, sent: Omit<Sent, 'body'> = {}) {
    const { status, headers, body: text } = await post({ ...sent, body })
    return { status, headers, ...JSON.parse(text as string) }
  }

  return { post, rpc, received, reported, caller, bodiesRead: () => bodiesRead }
}

function textOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

function request(method: string, params?: object, id: unknown = 1) {
  return { jsonrpc: '2.0', id, method, params }
}

async function textsOf({ body }: Outgoing): Promise<string> {
  let text = ''
  for await (const chunk of body as AsyncIterable<string>) text += chunk
  return text
}

const hello = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

describe('a call', () => {
  it('the service gets the decoded request and the principal', async () => {
    const { rpc, received, caller } = open()
    const answer = await rpc(request('SendMessage', { message: hello }), { headers: { 'idempotency-key': 'k-1' } })
    expect(received).toMatchObject([
      {
        operation: 'sendMessage',
        request: { message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }, dialect: 'v1.0' },
      },
    ])
    const { principal, signal, idempotencyKey } = received[0]?.call ?? {}
    expect({ principal, idempotencyKey }).toEqual({ principal: { id: 'ada' }, idempotencyKey: 'k-1' })
    expect(signal).toBe(caller.signal)
    expect(answer).toEqual({
      status: 200,
      headers: { 'content-type': 'application/json' },
      jsonrpc: '2.0',
      id: 1,
      result: { message: { messageId: 'm-2', role: 'ROLE_AGENT', parts: [{ text: 'hello' }] } },
    })
  })

  it('every unary operation is answered', async () => {
    const { rpc } = open()
    const calls: [string, object | undefined, object][] = [
      ['GetTask', { id: 'T' }, taskOnTheWire],
      ['CancelTask', { id: 'T' }, taskOnTheWire],
      ['ListTasks', undefined, { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 }],
      ['CreateTaskPushNotificationConfig', config, config],
      ['GetTaskPushNotificationConfig', { taskId: 'T', id: 'p' }, config],
      ['ListTaskPushNotificationConfigs', { taskId: 'T' }, { configs: [config] }],
      ['DeleteTaskPushNotificationConfig', { taskId: 'T', id: 'p' }, {}],
    ]
    for (const [method, params, result] of calls) expect(await rpc(request(method, params))).toMatchObject({ result })
    expect(await rpc(request('GetExtendedAgentCard'))).toMatchObject({ error: { code: -32007 } })
  })

  it('the answer has the id of the call', async () => {
    const { rpc } = open()
    for (const id of [0, '', 'x', -7, 2 ** 53 - 1, null, '0']) {
      expect((await rpc(request('GetTask', { id: 'T' }, id))).id).toBe(id)
      expect(await rpc(request('GetTask', { id: 'gone' }, id))).toMatchObject({ id, error: { code: -32001 } })
    }
  })

  it('a call needs an id, except in versions that have notifications', async () => {
    const sent01 = { method: 'tasks/send', params: { id: 'T', message: { role: 'user', parts: [] } } }
    const sent03 = { method: 'message/send', params: { message: { kind: 'message', messageId: 'm', role: 'user' } } }
    const dialectSets = {
      lenient: [v1_0, v0_3, v0_2, v0_1],
      strict: [v1_0, v0_3Strict, v0_2Strict, v0_1Strict],
    } as const
    const problemOf = async (dialects: WireOptions['dialects'], version: string, call: object) => {
      const headers = { 'a2a-version': version }
      const { id, error } = await open({ dialects }).rpc({ jsonrpc: '2.0', ...call }, { headers })
      expect(id).toBeNull()
      return error.code
    }
    const statusOf = async (dialects: WireOptions['dialects'], version: string, call: object) =>
      (await open({ dialects }).post({ body: { jsonrpc: '2.0', ...call }, headers: { 'a2a-version': version } })).status
    for (const dialects of [dialectSets.lenient, dialectSets.strict]) {
      expect(await statusOf(dialects, '', sent01)).toBe(204)
      for (const [version, method] of [
        ['0.3', 'tasks/get'],
        ['1.0', 'GetTask'],
      ] as const) {
        expect(await problemOf(dialects, version, { method, params: { id: 'gone' } })).toBe(-32600)
        // Errors in the method and the params are reported first.
        expect(await problemOf(dialects, version, { method, params: { id: 7 } })).toBe(-32602)
        expect(await problemOf(dialects, version, { method: 'nothing' })).toBe(-32601)
      }
    }
    expect(await statusOf(dialectSets.lenient, '0.2', sent03)).toBe(204)
    expect(await problemOf(dialectSets.strict, '0.2', { method: 'tasks/get', params: { id: 'gone' } })).toBe(-32600)
  })

  it('the version can be in the query', async () => {
    const { rpc } = open({ missingVersion: 'strict' })
    const sent = { headers: { 'a2a-version': '' } }
    expect(await rpc(request('GetTask', { id: 'T' }), { ...sent, query: 'A2A-Version=1.0' })).toHaveProperty('result')
    expect(await rpc(request('GetTask', { id: 'T' }), sent)).toMatchObject({ error: { code: -32009 } })
  })
})

describe('an invalid request', () => {
  it('a body that is not declared as JSON is rejected unread', async () => {
    const { rpc, bodiesRead } = open()
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', '']) {
      const answer = await rpc(request('GetTask', { id: 'T' }), { headers: { 'content-type': type } })
      expect(answer).toMatchObject({ status: 415, id: null, error: { code: -32005 } })
    }
    expect(bodiesRead()).toBe(0)
  })

  it('a long body is rejected', async () => {
    const answer = await open({ bodyLimit: 20 }).rpc(request('GetTask', { id: 'T' }))
    expect(answer).toMatchObject({ status: 413, id: null, error: { code: -32600 } })
    expect(answer.error.message).toBe('The body is longer than 20 bytes.')
  })

  it('malformed JSON is rejected', async () => {
    const { rpc } = open({ jsonDepth: 8 })
    for (const body of ['', '{', '{"a":1,"a":2}', '['.repeat(9), new Uint8Array([0x22, 0xff, 0x22])]) {
      expect(await rpc(body)).toMatchObject({ status: 200, id: null, error: { code: -32700 } })
    }
    expect((await rpc('{"a":1,"a":2}')).error.message).toBe('Invalid JSON payload: duplicate key "a" at position 7.')
  })

  it('a batch is rejected', async () => {
    const answer = await open().rpc([request('GetTask', { id: 'T' }), request('GetTask', { id: 'T' })])
    expect(answer).toMatchObject({ status: 200, id: null, error: { code: -32600 } })
    expect(answer.error.message).toContain('Batches are not part of A2A')
  })

  it('a wrong envelope is rejected, with its id if that is readable', async () => {
    const { rpc } = open()
    const wrong: [unknown, unknown][] = [
      ['"text"', null],
      ['null', null],
      [{ jsonrpc: '2.0', method: 'GetTask', params: { id: 'T' } }, null],
      [{ ...request('GetTask'), id: 1.5 }, null],
      [{ ...request('GetTask'), id: 2 ** 53 }, null],
      [{ ...request('GetTask'), id: true }, null],
      [{ ...request('GetTask'), id: ['a'] }, null],
      [{ ...request('GetTask'), id: 'x'.repeat(257) }, null],
      [{ ...request('GetTask', undefined, 'a'), jsonrpc: '1.0' }, 'a'],
      [{ ...request('GetTask', undefined, 'a'), jsonrpc: 2 }, 'a'],
      [{ ...request('GetTask', undefined, 0), method: 7 }, 0],
      [{ jsonrpc: '2.0', id: 3 }, 3],
    ]
    for (const [body, id] of wrong) expect(await rpc(body)).toMatchObject({ status: 200, id, error: { code: -32600 } })
  })

  it('an unknown version or method is rejected', async () => {
    const { rpc } = open()
    const version = await rpc(request('SendMessage', {}), { headers: { 'a2a-version': '99.0' } })
    expect(version).toMatchObject({
      id: 1,
      error: { code: -32009, data: [{ reason: 'VERSION_NOT_SUPPORTED', metadata: { supportedVersions: '1.0' } }] },
    })
    const method = await rpc(request('message/send', {}))
    expect(method).toMatchObject({ id: 1, error: { code: -32601 } })
    expect(method.error.message).toContain('There are SendMessage')
  })

  it('wrong params are rejected with the name of the field', async () => {
    const { rpc, received } = open()
    const answer = await rpc(request('ListTasks', { pageSize: 150 }))
    const description = 'expected an integer from 1 to 100, got 150'
    expect(answer).toMatchObject({
      status: 200,
      error: { code: -32602, data: [{ fieldViolations: [{ field: 'pageSize', description }] }] },
    })
    expect(await rpc(request('ListTasks', []))).toMatchObject({ error: { code: -32602 } })
    const key = await rpc(request('ListTasks'), { headers: { 'idempotency-key': 'ä' } })
    expect(key).toMatchObject({ error: { code: -32602, data: [{ fieldViolations: [{ field: 'Idempotency-Key' }] }] } })
    expect(received).toEqual([])
  })
})

describe('a failure', () => {
  it('an unexpected error is reported and hidden from the caller', async () => {
    const { rpc, reported } = open()
    const answer = await rpc(request('GetTask', { id: 'broken' }))
    expect(answer).toMatchObject({ status: 200, id: 1, error: { code: -32603, message: 'Internal error' } })
    expect(JSON.stringify(answer)).not.toContain('s3cret')
    expect(reported).toEqual([new Error('s3cret')])
  })

  it('an error after the caller has left is not reported', async () => {
    const { rpc, reported, caller } = open()
    caller.abort()
    await rpc(request('GetTask', { id: 'broken' }))
    expect(reported).toEqual([])
  })

  it('a temporary error says when to retry', async () => {
    const answer = await open().rpc(request('GetTask', { id: 'busy' }))
    expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': '2' }, error: { code: -32603 } })
  })
})

describe('a stream', () => {
  it('a stream is sent as numbered events', async () => {
    const { post } = open()
    const outgoing = await post({ body: request('SendStreamingMessage', { message: hello }, 'q') })
    expect(outgoing).toMatchObject({ status: 200, headers: { 'content-type': 'text/event-stream' } })
    const events = (await textsOf(outgoing)).split('\n\n')
    expect(events[0]).toBe(
      `id: 4\ndata: ${JSON.stringify({ jsonrpc: '2.0', id: 'q', result: { task: taskOnTheWire } })}`,
    )
    expect(events[1]).toMatch(/^id: 5\ndata: \{"jsonrpc":"2.0","id":"q","result":\{"statusUpdate":/)
    expect(events.slice(2)).toEqual([''])
  })

  it('a stream resumes after the last event that the caller has seen', async () => {
    const { post, rpc, received } = open()
    await post({ body: request('SubscribeToTask', { id: 'T' }), headers: { 'last-event-id': '12' } })
    await post({ body: request('SendStreamingMessage', { message: hello }), query: 'lastEventId=3' })
    expect(received.map(({ request }) => request)).toMatchObject([{ taskId: 'T', after: 12 }, { after: 3 }])
    const answer = await rpc(request('SubscribeToTask', { id: 'T' }), { headers: { 'last-event-id': 'x' } })
    expect(answer).toMatchObject({ error: { code: -32602, data: [{ fieldViolations: [{ field: 'Last-Event-ID' }] }] } })
  })

  it('a stream that cannot start is answered with an error', async () => {
    const answer = await open().rpc(request('SubscribeToTask', { id: 'gone' }, 9))
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' }, id: 9 })
    expect(answer.error.code).toBe(-32001)
  })

  it('a stream that fails ends with an error event', async () => {
    const { post, reported } = open()
    const text = await textsOf(await post({ body: request('SubscribeToTask', { id: 'broken' }) }))
    expect(text).toMatch(
      /event: error\ndata: \{"jsonrpc":"2.0","id":1,"error":\{"code":-32603,"message":"Internal error"\}\}\n\n$/,
    )
    expect(reported).toEqual([new Error('s3cret')])
  })
})

describe('arbitrary bodies', () => {
  const call = fc.record(
    { jsonrpc: fc.constantFrom('2.0', '1.0'), id: fc.jsonValue(), method: fc.string(), params: fc.jsonValue() },
    { requiredKeys: [] },
  )

  it('every body is answered with an error message, and no internal error occurs', async () => {
    const { post, reported } = open()
    const body = fc.oneof(fc.uint8Array(), fc.json(), fc.string(), call.map(textOf))
    await fc.assert(
      fc.asyncProperty(body, fc.string(), async (sent, version) => {
        const outgoing = await post({ body: sent, headers: { 'a2a-version': version } })
        expect([200, 413, 415]).toContain(outgoing.status)
        expect(JSON.parse(outgoing.body as string)).toHaveProperty('error.message')
      }),
      { numRuns: 500 },
    )
    expect(reported).toEqual([])
  })
})
