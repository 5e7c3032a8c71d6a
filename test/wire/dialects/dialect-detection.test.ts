import { describe, expect, it } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { count } from '../../support/agents/interop-agent.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { silentLogger } from '../../support/logger.ts'
import { anonymousListsAll } from '../../support/servers/local-handler.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { isStream, readEvents } from '../../support/wire/wire-client.ts'

type Version = string | undefined
/** Number, method, params, version, the expected response, and the one in strict mode if it differs. */
type Vector = [number, string, unknown, Version, object, object?]

const parts = [{ text: 'count' }]
const typedParts = [{ type: 'text', text: 'count' }]
const sent10 = { message: { messageId: 'm', role: 'ROLE_USER', parts } }
const message03 = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'count' }] }
const sent03 = { message: message03 }
const sent02 = { message: { messageId: 'm', role: 'user', parts: typedParts } }
const sent01 = { id: 't', message: { role: 'user', parts: typedParts } }
const camel = { message: { messageId: 'm', role: 'ROLE_USER', content: parts } }
const snake = { request: { message_id: 'm', role: 'ROLE_USER', content: parts } }
const push01 = { id: 't', pushNotificationConfig: { url: 'https://a.test' } }

const statusParts = [{ text: 'Counted' }]
const task10 = { task: { status: { state: 'TASK_STATE_COMPLETED', message: { parts: statusParts } } } }
const task03p = { task: { status: { state: 'TASK_STATE_COMPLETED', message: { content: statusParts } } } }
const task03 = { kind: 'task', status: { state: 'completed', message: { kind: 'message' } } }
const task01 = {
  id: 't',
  sessionId: expect.any(String),
  status: { state: 'completed', message: { parts: [{ type: 'text' }] } },
}
const details = [{ domain: 'a2a-protocol.org' }]
const error10 = (code: number) => ({ error: { code, data: details } })
const error03 = (code: number) => ({
  error: { code, data: expect.arrayContaining([expect.objectContaining(details[0])]) },
})
const error01 = (code: number, message: string) => ({ error: { code, message, data: { detail: expect.any(String) } } })
const noMethod = (version: string) => ({ error: { code: -32601, message: expect.stringContaining(`A2A ${version}`) } })
const noPush01 = error01(-32003, 'Push Notification is not supported')

/** The numbers are those of the vectors in our dialect reference. */
const rpcVectors: Vector[] = [
  [1, 'SendMessage', sent10, '1.0', { result: task10 }],
  [2, 'SendMessage', sent10, undefined, { result: task10 }, noMethod('0.3')],
  [3, 'SendMessage', sent10, '99.0', error10(-32009)],
  [4, 'SendMessage', sent10, '1.0.1', { result: task10 }],
  [5, 'SendMessage', sent10, '0.3', noMethod('0.3')],
  [6, 'message/send', sent03, undefined, { result: task03 }],
  [7, 'message/send', sent03, '0.3.0', { result: task03 }],
  [8, 'message/send', sent03, '1.0', noMethod('1.0')],
  [9, 'tasks/send', sent01, undefined, { result: task01 }, noMethod('0.3')],
  [12, 'tasks/get', { id: 't' }, undefined, error03(-32001)],
  [14, 'tasks/pushNotification/set', push01, undefined, noPush01, noMethod('0.3')],
  [15, 'tasks/pushNotificationConfig/list', { id: 't' }, undefined, error03(-32003)],
  [16, 'agent/authenticatedExtendedCard', undefined, undefined, error03(-32004)],
  [18, 'message/send', sent02, undefined, { result: task03 }],
  [19, 'message/send', message03, undefined, { result: task03 }],
  [32, 'GetExtendedAgentCard', undefined, '1.0', error10(-32004)],
]

const restVectors: Vector[] = [
  [20, 'POST /v1/message:send', camel, undefined, { httpStatus: 200, ...task03p }],
  [21, 'POST /v1/message:send', snake, '0.3', { httpStatus: 200, ...task03p }],
  [22, 'POST /v1/message:send', sent03, undefined, { httpStatus: 200, ...task03 }],
  [23, 'POST /v1/message:send', sent10, '1.0', { httpStatus: 200, ...task10 }],
  [24, 'POST /message:send', sent10, undefined, { httpStatus: 200, ...task10 }, { httpStatus: 404, code: -32601 }],
  [26, 'GET /tasks?A2A-Version=1.0', undefined, undefined, { httpStatus: 200, tasks: [], totalSize: 0 }],
]

describe.each(['infer', 'strict'] as const)('missingVersion: %s', (missingVersion) => {
  const expected = (infer: object, strict = infer) => (missingVersion === 'infer' ? infer : strict)

  it.each(rpcVectors)(
    'vector %i: %s with %j and version %s is recognized',
    async (_, method, params, version, infer, strict) => {
      expect(await createCaller(missingVersion).rpc(method, params, version)).toMatchObject(expected(infer, strict))
    },
  )

  it.each(restVectors)(
    'vector %i: %s with %j and version %s is recognized',
    async (_, line, body, version, infer, strict) => {
      expect(await createCaller(missingVersion).rest(line, body, version)).toMatchObject(expected(infer, strict))
    },
  )

  it('vector 10: tasks/get after tasks/send returns a 0.1 task', async () => {
    const { rpc } = createCaller(missingVersion)
    await rpc('tasks/send', sent01, '0.1')
    expect(await rpc('tasks/get', { id: 't' })).toMatchObject(expected({ result: task01 }, error03(-32001)))
  })

  it('vector 11: tasks/get after message/send returns a 0.3 task', async () => {
    const { rpc } = createCaller(missingVersion)
    const { result } = await rpc('message/send', sent03)
    expect(await rpc('tasks/get', { id: result.id })).toMatchObject({ result: task03 })
  })

  it('vector 13: tasks/get with a taskId that accepts an event stream is the house dialect', async () => {
    const { rpc } = createCaller(missingVersion, { accept: 'text/event-stream' })
    const waiting = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'wait' }] }
    const { result } = await rpc('message/send', { message: waiting, configuration: { blocking: false } })
    const { streamed } = await rpc('tasks/get', { taskId: result.id })
    expect(streamed).toMatchObject({ id: 1, result: { kind: 'status-update', taskId: result.id } })
  })

  it('vector 17: a batch gets one error', async () => {
    const response = await createCaller(missingVersion).rest('POST /', [{}, {}])
    expect(response).toMatchObject({ id: null, error: { code: -32600 } })
  })

  it.each(['GET', 'POST'])('vector 25: %s /tasks/x:subscribe returns a stream', async (verb) => {
    const { rpc, rest } = createCaller(missingVersion)
    const waiting = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'wait' }] }
    const { result } = await rpc('SendMessage', { message: waiting, configuration: { returnImmediately: true } }, '1.0')
    const { id } = result.task
    expect(await rest(`${verb} /tasks/${id}:subscribe`, undefined, '1.0')).toMatchObject({ streamed: { task: { id } } })
  })

  it.each([
    [27, 'a2a.v1.A2AService', { request: camel.message }, {}, task03p],
    [28, 'lf.a2a.v1.A2AService', sent10, { 'a2a-version': '1.0' }, task10],
  ] as const)('vector %i: the gRPC path selects %s', async (_, service, request, metadata, { task: expectedTask }) => {
    const { server } = await startTestServer(count, { grpc: true, dialects: { missingVersion } })
    const { task } = await grpcClient(server.port).unary(`${service}/SendMessage`, request, { metadata })
    // grpc-js also returns empty members.
    expect(task.status).toMatchObject({ state: expectedTask.status.state })
    expect(JSON.stringify(task.status)).toContain('Counted')
  })

  it('vector 29: a mesh envelope is rejected with an explanation', async () => {
    const envelope = { message_id: 'm', message_type: 'request', sender_id: 's', payload: {}, protocol_version: '1.0' }
    const { rest } = createCaller(missingVersion)
    const detail = expect.stringContaining('mesh')
    expect(await rest('POST /', envelope)).toMatchObject({ id: null, error: { code: -32600, message: detail } })
    expect(await rest('POST /api/a2a', envelope)).toMatchObject({ id: null, error: { code: -32600, data: { detail } } })
  })

  it('vector 30: a path may start with the tenant', async () => {
    const { rpc, rest } = createCaller(missingVersion)
    const { result } = await rpc('SendMessage', sent10, '1.0')
    const { id } = result.task
    expect(await rest(`GET /acme/tasks/${id}`, undefined, '1.0')).toMatchObject({ id, ...task10.task })
  })

  it.each([0, ''])('vector 31: a response repeats the request id %j', async (id) => {
    const request = { jsonrpc: '2.0', id, method: 'GetTask', params: { id: 't' } }
    expect(await createCaller(missingVersion).rest('POST /', request, '1.0')).toMatchObject({ id, ...error10(-32001) })
  })
})

// biome-ignore lint/suspicious/noExplicitAny: each test checks the shape
type Response = any

/** Calls an agent without a connection. For a stream, it returns the first event. */
interface Caller {
  rpc(method: string, params?: unknown, version?: Version): Promise<Response>
  rest(line: string, body?: unknown, version?: Version): Promise<Response>
}

function createCaller(missingVersion: 'infer' | 'strict', extraHeaders: Record<string, string> = {}): Caller {
  const { fetch } = createHandler(agent({ name: 'Ada' }, count), {
    tenant: 'acme',
    auth: anonymousListsAll,
    logger: silentLogger,
    dialects: { missingVersion },
  })

  const rest: Caller['rest'] = async (line, body, version) => {
    const [method = '', path = ''] = line.split(' ')
    const headers = new Headers(version === undefined ? extraHeaders : { ...extraHeaders, 'a2a-version': version })
    if (body !== undefined) headers.set('content-type', 'application/json')
    const text = body === undefined ? null : JSON.stringify(body)
    const response = await fetch(new Request(`http://ada.test${path}`, { method, headers, body: text }))
    if (!isStream(response)) return { httpStatus: response.status, ...(await response.json()) }
    for await (const event of readEvents(response)) return { streamed: event }
  }
  return { rest, rpc: (method, params, version) => rest('POST /', { jsonrpc: '2.0', id: 1, method, params }, version) }
}
