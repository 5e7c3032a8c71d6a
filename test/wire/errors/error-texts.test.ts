import { describe, expect, it } from 'vitest'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const hello = async () => 'hello'

// biome-ignore lint/suspicious/noExplicitAny: each test checks the shape
type Wire = any

/** Callers of one server, in every dialect and binding. */
async function startServer() {
  const { server } = await startTestServer(hello, { grpc: true, push: {} })
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}): Promise<Wire> => {
    const response = await fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return await response.json()
  }
  const rpc = async (version: string, method: string, params: unknown): Promise<Wire> => {
    const { error } = await post('/', { jsonrpc: '2.0', id: 1, method, params }, { 'a2a-version': version })
    return error
  }
  const grpc = grpcClient(server.port)
  const grpcError = (method: string, request: object): Promise<Wire> =>
    grpc.unary(method, request).catch((error) => error)
  return { server, post, rpc, grpcError }
}

describe('an unknown task', () => {
  it('an unknown task is reported with the text of the specification first, in every dialect and binding', async () => {
    const { server, rpc, grpcError } = await startServer()
    const detail = 'There is no task t, or it is not yours.'
    const full = `Task not found: ${detail}`
    expect(await rpc('1.0', 'GetTask', { id: 't' })).toMatchObject({ code: -32001, message: full })
    for (const version of ['0.3', '0.2']) {
      const { code, message, data } = await rpc(version, 'tasks/get', { id: 't' })
      expect({ code, message }).toEqual({ code: -32001, message: 'Task not found' })
      expect(data).toMatchObject([{ reason: 'TASK_NOT_FOUND' }, { locale: 'en', message: detail }])
    }
    const old = await rpc('0.1', 'tasks/get', { id: 't' })
    expect(old).toEqual({ code: -32001, message: 'Task not found', data: { detail } })

    const rest = await fetch(`${server.url}/tasks/t`, { headers: { 'a2a-version': '1.0' } })
    expect(await rest.json()).toMatchObject({ error: { code: 404, message: full } })
    const oldRest = await fetch(`${server.url}/v1/tasks/t`)
    expect(await oldRest.json()).toMatchObject({ code: -32001, message: full, type: 'TaskNotFoundError' })

    expect(await grpcError('lf.a2a.v1.A2AService/GetTask', { id: 't' })).toMatchObject({ details: full })
    // SDKs of 0.3 find the error by its class name.
    expect(await grpcError('a2a.v1.A2AService/GetTask', { name: 'tasks/t' })).toMatchObject({
      details: `TaskNotFoundError: ${full}`,
    })
  })
})

describe('the data of an error', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: 't' } }

  it('the data of an error is a list in 0.3, except for a2a-go before 2.0, which reads an object only', async () => {
    const { post } = await startServer()
    const go = { 'user-agent': 'Go-http-client/1.1' }
    expect((await post('/', call)).error.data).toBeInstanceOf(Array)
    expect((await post('/', call, { ...go, 'a2a-version': '0.3' })).error.data).toBeInstanceOf(Array)
    expect((await post('/', call, go)).error.data).toMatchObject({ details: [{ reason: 'TASK_NOT_FOUND' }, {}] })
  })
})

describe('a refused webhook', () => {
  const url = 'ftp://example.com/hook'
  const parts = [{ text: 'hi' }]
  const message10 = { messageId: 'm', role: 'ROLE_USER', parts }
  const message03 = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
  const message01 = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }
  const protoMessage = { messageId: 'm', role: 'ROLE_USER', content: parts }

  it('a refused webhook is named by the field of the caller’s dialect, with a message and alone', async () => {
    const { post, rpc } = await startServer()
    const field = (name: string) => ({
      message: expect.stringContaining(`Invalid parameters: ${name}: may not be called`),
    })
    const inline10 = { message: message10, configuration: { taskPushNotificationConfig: { url } } }
    expect(await rpc('1.0', 'SendMessage', inline10)).toMatchObject(
      field('configuration.taskPushNotificationConfig.url'),
    )
    const inline03 = { message: message03, configuration: { pushNotificationConfig: { url } } }
    expect(await rpc('0.3', 'message/send', inline03)).toMatchObject({
      ...field('configuration.pushNotificationConfig.url'),
      data: [{ fieldViolations: [{ field: 'configuration.pushNotificationConfig.url' }] }],
    })
    const inline01 = { id: 't', message: message01, pushNotification: { url } }
    expect((await rpc('0.1', 'tasks/send', inline01)).data.violations[0].field).toBe('pushNotification.url')
    const inlineProto = { message: protoMessage, configuration: { pushNotification: { url } } }
    expect(await post('/v1/message:send', inlineProto)).toMatchObject(field('configuration.pushNotification.url'))

    const { result } = await post('/', {
      jsonrpc: '2.0',
      id: 1,
      method: 'message/send',
      params: { message: message03, configuration: { blocking: false } },
    })
    const { id } = result
    expect(await rpc('1.0', 'CreateTaskPushNotificationConfig', { taskId: id, url })).toMatchObject(field('url'))
    const config03 = { taskId: id, pushNotificationConfig: { url } }
    expect(await rpc('0.3', 'tasks/pushNotificationConfig/set', config03)).toMatchObject(
      field('pushNotificationConfig.url'),
    )
  })
})

describe('an unknown method', () => {
  const methods = {
    '1.0': ['SendMesage', 'SendMessage', 'GetTask, ListTasks'],
    '0.3': ['message/sent', 'message/send', 'tasks/get, tasks/list'],
    '0.2': ['message/sent', 'message/send', 'tasks/get, tasks/cancel'],
    '0.1': ['tasks/sned', 'tasks/send', 'tasks/get, tasks/cancel'],
  } as const

  it.each(Object.entries(methods))(
    'an unknown method is answered in %s with the methods of that version only',
    async (version, names) => {
      const [misspelled, similar, others] = names
      const { rpc } = await startServer()
      const { message, data } = await rpc(version, misspelled, {})
      const text = version === '0.1' ? data.detail : message
      expect(message).toMatch(/^Method not found/)
      expect(text).toContain(`There is no method "${misspelled}" in A2A ${version}; did you mean ${similar}?`)
      expect(text).toContain(others)
      expect(text.includes('SendStreamingMessage')).toBe(version === '1.0')
      const unknown = await rpc(version, 'nothing/like/that', {})
      expect(version === '0.1' ? unknown.data.detail : unknown.message).toContain(others)
    },
  )

  it('an unknown method is answered without a version in the dialect whose methods look like it', async () => {
    const { post } = await startServer()
    const textOf = async (method: string) => {
      const { error } = await post('/', { jsonrpc: '2.0', id: 1, method, params: {} })
      return error.data?.detail ?? error.message
    }
    expect(await textOf('message/sned')).toContain('in A2A 0.3; did you mean message/send?')
    expect(await textOf('tasks/sendSubscibe')).toContain('in A2A 0.1; did you mean tasks/sendSubscribe?')
    expect(await textOf('GetTaks')).toContain('in A2A 1.0; did you mean GetTask?')
    expect(await textOf('no/such/method')).toContain('in A2A 0.3. There are message/send,')
  })
})

describe('gRPC errors of 0.3', () => {
  it('a 0.3 error over gRPC begins with the class name that SDKs look for', async () => {
    const { grpcError } = await startServer()
    const request = { request: { messageId: 'm', role: 'ROLE_USER', content: [] } }
    const { details } = await grpcError('a2a.v1.A2AService/SendMessage', request)
    expect(details).toMatch(/^InvalidParamsError: Invalid parameters: message\.content: /)
  })
})
