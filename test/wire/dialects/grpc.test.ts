import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { compressionAlgorithms, type Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { decodeMessage } from '../../../src/core/transports/grpc/codec.ts'
import { messageNamed } from '../../../src/core/transports/grpc/proto-registry.ts'
import { deferred, until } from '../../support/async.ts'
import { type GrpcMessage, grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

const lf = 'lf.a2a.v1.A2AService'
const v0_3 = 'a2a.v1.A2AService'

async function start(run: (turn: Turn) => Promise<string | undefined>, options: TestServerOptions = {}) {
  const { server, wire } = await startTestServer(run, { grpc: true, ...options })
  return { server, wire, client: grpcClient(server.port) }
}

async function echo(turn: Turn): Promise<string | undefined> {
  if (turn.text === 'hello') return 'hi'
  await turn.status('working')
  await turn.artifact('answer').close(turn.text)
  return undefined
}

let sent = 0
function sendRequest(text: string, more: object = {}) {
  return { message: { messageId: `m-${++sent}`, role: 'ROLE_USER', parts: [{ text }] }, ...more }
}

function errorOf(promise: Promise<unknown>): Promise<ServiceError> {
  return promise.then(
    () => Promise.reject(new Error('expected a failure')),
    (error) => error,
  )
}

function detailsOf(metadata: Metadata): GrpcMessage {
  const [bytes] = metadata.get('grpc-status-details-bin')
  return decodeMessage(messageNamed('google.rpc.Status'), bytes as Buffer)
}

describe('a gRPC call', () => {
  test('SendMessage returns a message', async () => {
    const { client } = await start(echo)
    const { message } = await client.unary(`${lf}/SendMessage`, sendRequest('hello'))
    expect(message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hi' }] })
  })

  test('a task is created, read and listed, and a completed one cannot be cancelled', async () => {
    const { client } = await start(echo)
    const { task } = await client.unary(`${lf}/SendMessage`, sendRequest('one'))
    const { id } = task
    const got = await client.unary(`${lf}/GetTask`, { id })
    expect(got).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    const page = await client.unary(`${lf}/ListTasks`, { pageSize: 10 })
    expect(page).toMatchObject({ tasks: [{ id }], totalSize: 1 })
    const error = await errorOf(client.unary(`${lf}/CancelTask`, { id }))
    expect(error.code).toBe(status.FAILED_PRECONDITION)
    expect(detailsOf(error.metadata).details[0].reason).toBe('TASK_NOT_CANCELABLE')
  })

  test('a stream contains the task and its updates', async () => {
    const { client } = await start(echo)
    const { messages, status: ended } = await readAll(client.stream(`${lf}/SendStreamingMessage`, sendRequest('one')))
    expect(messages.map((message) => Object.keys(message)[0])).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    expect(ended.code).toBe(status.OK)
  })

  test('an error has its details in the trailers', async () => {
    const { client } = await start(echo)
    const notFound = await errorOf(client.unary(`${lf}/GetTask`, { id: 'nö' }))
    expect(notFound).toMatchObject({
      code: status.NOT_FOUND,
      details: 'Task not found: There is no task nö, or it is not yours.',
    })
    expect(detailsOf(notFound.metadata)).toMatchObject({
      code: 5,
      details: [{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }],
    })
    const invalid = await errorOf(client.unary(`${lf}/SendMessage`, { message: { messageId: 'x', role: 'ROLE_USER' } }))
    expect(invalid.code).toBe(status.INVALID_ARGUMENT)
    expect(detailsOf(invalid.metadata).details[0].fieldViolations[0].field).toBe('message.parts')
  })

  test('an error before the first message of a stream is a trailers-only response', async () => {
    const { client } = await start(echo)
    const { messages, status: ended } = await readAll(client.stream(`${lf}/SubscribeToTask`, { id: 'none' }))
    expect(messages).toEqual([])
    expect(ended).toMatchObject({ code: status.NOT_FOUND })
    expect(detailsOf(ended.metadata).details[0].reason).toBe('TASK_NOT_FOUND')
  })

  test('both services return the extended card; without one, 1.0 fails and 0.3 returns the public card', async () => {
    const methods = [`${lf}/GetExtendedAgentCard`, 'a2a.v1.A2AService/GetAgentCard'] as const
    const extendedCard = { skills: [{ id: 'secret', name: 'Secret', description: 'Only for some', tags: ['inner'] }] }
    const { client } = await start(echo, { extendedCard })
    for (const method of methods) {
      expect(await client.unary(method, {})).toMatchObject({ name: 'Test', skills: [{ id: 'secret' }] })
    }
    const { client: without } = await start(echo)
    const error = await errorOf(without.unary(methods[0], {}))
    expect(error.code).toBe(status.FAILED_PRECONDITION)
    expect(detailsOf(error.metadata).details[0].reason).toBe('UNSUPPORTED_OPERATION')
    const card = await without.unary(methods[1], {})
    expect(card).toMatchObject({ name: 'Test', protocolVersion: '0.3.0', skills: [{ id: 'test' }] })
    expect(card.additionalInterfaces).toContainEqual({
      url: expect.stringMatching(/^127.0.0.1:\d+$/),
      transport: 'GRPC',
    })
  })

  test('a call without a version is 0.3 if the operator says so', async () => {
    const { client } = await start(echo, { dialects: { missingVersion: 'strict' } })
    const error = await errorOf(client.unary(`${lf}/SendMessage`, sendRequest('hello')))
    expect(error).toMatchObject({
      code: status.FAILED_PRECONDITION,
      details: expect.stringContaining('does not speak A2A 0.3, the version of calls that name none. Supported: 1.0'),
    })
    const named = await client.unary(`${lf}/SendMessage`, sendRequest('hello'), { metadata: { 'a2a-version': '1.0' } })
    expect(named.message.parts).toMatchObject([{ text: 'hi' }])
    const { messages } = await readAll(client.stream(`${lf}/SendStreamingMessage`, sendRequest('one')))
    expect(messages).toEqual([])
    const proto = { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hello' }] } }
    expect((await client.unary(`${v0_3}/SendMessage`, proto)).msg.content).toMatchObject([{ text: 'hi' }])
  })

  test('tasks are listed in 0.3, and a page size of 0 means none in both versions', async () => {
    const { client } = await start(echo)
    const since = { seconds: Math.floor(Date.now() / 1000) - 60, nanos: 0 }
    const { task } = await client.unary(`${lf}/SendMessage`, sendRequest('one'))
    const { id, contextId } = task
    await client.unary(`${lf}/SendMessage`, sendRequest('two'))
    // Set explicitly, as Go clients do; in 0.3, the field has no presence.
    expect((await client.unary(`${lf}/ListTasks`, { pageSize: 0 })).tasks).toHaveLength(2)
    const page = await client.unary(`${v0_3}/ListTasks`, { pageSize: 0, contextId, lastUpdatedTime: since })
    expect(page).toMatchObject({ tasks: [{ id, status: { state: 'TASK_STATE_COMPLETED' } }], totalSize: 1 })
    const first = await client.unary(`${v0_3}/ListTasks`, { pageSize: 1, status: 'TASK_STATE_COMPLETED' })
    expect(first).toMatchObject({ tasks: [{}], totalSize: 2, nextPageToken: expect.stringMatching(/./) })
    const later = { lastUpdatedTime: { seconds: since.seconds + 3600, nanos: 0 } }
    expect((await client.unary(`${v0_3}/ListTasks`, later)).tasks ?? []).toEqual([])
    expect((await errorOf(client.unary(`${v0_3}/ListTasks`, { pageSize: 500 }))).code).toBe(status.INVALID_ARGUMENT)
  })

  test('a page size of 0 means none over gRPC only: JSON-RPC and REST refuse it in 1.0', async () => {
    const { server, wire, client } = await start(echo)
    expect((await client.unary(`${lf}/ListTasks`, { pageSize: 0 })).pageSize).toBe(50)
    expect((await errorOf(client.unary(`${lf}/ListTasks`, { pageSize: -1 }))).code).toBe(status.INVALID_ARGUMENT)
    const { error } = await wire.call('ListTasks', { pageSize: 0 })
    expect(error).toMatchObject({ code: -32602, message: expect.stringContaining('pageSize') })
    const response = await fetch(`${server.url}/tasks?pageSize=0`, { headers: { 'a2a-version': '1.0' } })
    expect(response.status).toBe(400)
    expect(JSON.stringify(await response.json())).toContain('pageSize')
  })

  test('the service of a disabled dialect is unimplemented', async () => {
    const { server, client } = await start(echo)
    const error = await errorOf(client.unary('a2a.v1.A2AService/GetTask', { name: 'tasks/x' }))
    expect(error.code).toBe(status.NOT_FOUND)
    const v10Only = await startTestServer(echo, { grpc: true, dialects: ['v1.0'] })
    const other = grpcClient(v10Only.server.port)
    expect(server.port).not.toBe(v10Only.server.port)
    expect(await errorOf(other.unary('a2a.v1.A2AService/GetTask', { name: 'tasks/x' }))).toMatchObject({
      code: status.UNIMPLEMENTED,
    })
  })

  test('a passed deadline ends the call and not the task', async () => {
    const stop = deferred()
    const { client, wire } = await start(async (turn) => {
      await turn.status('working')
      await stop.promise
      return undefined
    })
    const deadline = Date.now() + 200
    const error = await errorOf(client.unary(`${lf}/SendMessage`, sendRequest('wait'), { deadline }))
    expect(error.code).toBe(status.DEADLINE_EXCEEDED)
    stop.resolve()
    const page = await wire.result<GrpcMessage>('ListTasks', {})
    await until(async () => (await wire.getTask(page.tasks[0].id)).status.state === 'TASK_STATE_COMPLETED')
  })

  test('cancelling a stream does not cancel its task', async () => {
    const stop = deferred()
    const { client, wire } = await start(async (turn) => {
      await turn.status('working')
      await stop.promise
      return undefined
    })
    const stream = client.stream(`${lf}/SendStreamingMessage`, sendRequest('wait'))
    const [{ task }] = (await once(stream, 'data')) as GrpcMessage[]
    const ended = readAll(stream)
    stream.cancel()
    expect((await ended).status.code).toBe(status.CANCELLED)
    expect((await wire.getTask(task.id)).status.state).toBe('TASK_STATE_WORKING')
    stop.resolve()
    await until(async () => (await wire.getTask(task.id)).status.state === 'TASK_STATE_COMPLETED')
  })

  test('messages of several megabytes are sent and received completely', async () => {
    const { server } = await start(echo)
    const client = grpcClient(server.port, { 'grpc.max_receive_message_length': -1 })
    const text = 'ä'.repeat(2_000_000)
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => client.unary(`${lf}/SendMessage`, sendRequest(text))),
    )
    for (const { task } of answers) expect(task.artifacts[0].parts[0].text).toBe(text)
  })

  test('a message over the limit is rejected and the connection stays usable', async () => {
    const { client } = await start(echo, { http: { bodyLimit: 100_000 } })
    const error = await errorOf(client.unary(`${lf}/SendMessage`, sendRequest('x'.repeat(5_000_000))))
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED)
    const { message } = await client.unary(`${lf}/SendMessage`, sendRequest('hello'))
    expect(message.parts[0].text).toBe('hi')
  })

  test('compressed messages are accepted', async () => {
    const { server } = await start(echo)
    for (const algorithm of [compressionAlgorithms.gzip, compressionAlgorithms.deflate]) {
      const client = grpcClient(server.port, { 'grpc.default_compression_algorithm': algorithm })
      const text = 'again and '.repeat(10_000)
      const { task } = await client.unary(`${lf}/SendMessage`, sendRequest(text))
      expect(task.history[0].parts[0].text).toBe(text)
    }
  })

  test('a slow reader gets every event in order', async () => {
    const { server } = await start(async (turn) => {
      const numbers = turn.artifact('numbers')
      for (let n = 0; n < 300; n++) await numbers.write(`${n} ${'x'.repeat(5_000)}`)
      await numbers.close()
      return undefined
    })
    const stream = grpcClient(server.port).stream(`${lf}/SendStreamingMessage`, sendRequest('count'))
    const received: number[] = []
    for await (const { artifactUpdate } of stream) {
      const text = artifactUpdate?.artifact.parts[0].text
      if (text) received.push(Number.parseInt(text, 10))
      if (received.length % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(received).toEqual(Array.from({ length: 300 }, (_, n) => n))
  })
})

describe('a shared port', () => {
  test('a thousand gRPC and HTTP/1.1 calls run side by side', async () => {
    const { client, wire } = await start(echo)
    const texts = Array.from({ length: 1_000 }, (_, n) => `number ${n}`)
    const answers = await Promise.all(
      texts.map(async (text, n) => {
        if (n % 2 === 1) return (await wire.sendTask(text)).artifacts?.[0]?.parts[0]?.text
        const { task } = await client.unary(`${lf}/SendMessage`, sendRequest(text))
        return task.artifacts[0].parts[0].text
      }),
    )
    expect(answers).toEqual(texts)
  })

  test('plain HTTP/2 serves everything that HTTP/1.1 serves, on the same connection as gRPC', async () => {
    const { server } = await start(echo)
    const session = connectHttp2(server.url)
    onTestFinished(() => session.destroy())
    const card = await request(session, { ':path': '/.well-known/agent-card.json' })
    expect(card).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(card.body).supportedInterfaces[0].url).toContain(server.url)

    const headers = { ':method': 'POST', ':path': '/', 'content-type': 'application/json', 'a2a-version': '1.0' }
    const call = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: sendRequest('one') })
    const sendResponse = await request(session, headers, call('SendMessage'))
    expect(JSON.parse(sendResponse.body).result.task.artifacts[0].parts[0].text).toBe('one')
    const stream = await request(session, headers, call('SendStreamingMessage'))
    expect(stream.headers['content-type']).toBe('text/event-stream')
    expect(stream.body.match(/^data: /gm)).toHaveLength(4)

    const grpc = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc' }
    const health = await request(session, grpc, Buffer.alloc(5))
    expect(health).toMatchObject({ status: 200, trailers: { 'grpc-status': '0' } })
    const head = await request(session, { ':method': 'HEAD', ':path': '/healthz' })
    expect(head).toMatchObject({ status: 200, body: '' })
  })
})

interface Http2Response {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly trailers: Readonly<Record<string, unknown>>
  readonly body: string
}

async function request(
  session: ReturnType<typeof connectHttp2>,
  headers: Readonly<Record<string, string>>,
  content?: string | Buffer,
): Promise<Http2Response> {
  const stream = session.request(headers, { endStream: content === undefined })
  if (content !== undefined) stream.end(content)
  let responseHeaders: Record<string, unknown> = {}
  let trailers: Record<string, unknown> = {}
  stream.on('response', (response) => {
    responseHeaders = response
  })
  stream.on('trailers', (response) => {
    trailers = response
  })
  stream.setEncoding('utf8')
  let body = ''
  for await (const chunk of stream) body += chunk
  return { status: Number(responseHeaders[':status']), headers: responseHeaders, trailers, body }
}

describe('health', () => {
  test('Check reports the server and each service', async () => {
    const { client } = await start(echo)
    for (const service of ['', lf, 'a2a.v1.A2AService']) {
      const health = await client.unary('grpc.health.v1.Health/Check', { service })
      expect(health.status).toBe('SERVING')
    }
    expect(await errorOf(client.unary('grpc.health.v1.Health/Check', { service: 'other' }))).toMatchObject({
      code: status.NOT_FOUND,
    })
  })

  test('Watch reports that the server closes and does not delay it', async () => {
    const { client, server } = await start(echo)
    const watch = client.stream('grpc.health.v1.Health/Watch', { service: '' })
    const unknown = client.stream('grpc.health.v1.Health/Watch', { service: 'other' })
    const [first] = (await once(watch, 'data')) as GrpcMessage[]
    expect(first.status).toBe('SERVING')
    const [other] = (await once(unknown, 'data')) as GrpcMessage[]
    expect(other.status).toBe('SERVICE_UNKNOWN')
    const ended = Promise.all([readAll(watch), readAll(unknown)])
    const startTime = performance.now()
    await server.close()
    expect(performance.now() - startTime).toBeLessThan(900)
    const [{ messages }, { messages: none }] = await ended
    expect(messages.map((message) => message.status)).toEqual(['NOT_SERVING'])
    expect(none).toEqual([])
  })
})

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  const method = `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`

  test('reflection lists services and returns files by name and symbol', async () => {
    const { client } = await start(echo)
    const stream = client.bidirectional(method)
    const ask = async (question: object): Promise<GrpcMessage> => {
      stream.write(question)
      const [answer] = (await once(stream, 'data')) as GrpcMessage[]
      return answer
    }
    const { listServicesResponse } = await ask({ listServices: '*' })
    expect(listServicesResponse.service.map(({ name }: GrpcMessage) => name)).toEqual([
      lf,
      'a2a.v1.A2AService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ])
    for (const symbol of [lf, `${lf}.SendMessage`, 'lf.a2a.v1.Task', 'lf.a2a.v1.TaskState', 'lf.a2a.v1.Task.id']) {
      const { fileDescriptorResponse, originalRequest } = await ask({ fileContainingSymbol: symbol })
      expect(originalRequest).toEqual({ fileContainingSymbol: symbol })
      const names = fileDescriptorResponse.fileDescriptorProto.map(fileName)
      expect(names[0]).toBe('lf/a2a/v1/a2a.proto')
      expect(names).toContain('google/protobuf/struct.proto')
    }
    const { fileDescriptorResponse } = await ask({ fileByFilename: 'grpc/health/v1/health.proto' })
    expect(fileDescriptorResponse.fileDescriptorProto.map(fileName)).toEqual(['grpc/health/v1/health.proto'])
    expect((await ask({ fileContainingSymbol: 'no.Such' })).errorResponse.errorCode).toBe(status.NOT_FOUND)
    expect((await ask({ fileByFilename: 'no.proto' })).errorResponse.errorCode).toBe(status.NOT_FOUND)
    const { allExtensionNumbersResponse } = await ask({ allExtensionNumbersOfType: 'lf.a2a.v1.Task' })
    expect(allExtensionNumbersResponse.baseTypeName).toBe('lf.a2a.v1.Task')
    const ended = readAll(stream)
    stream.end()
    expect((await ended).status.code).toBe(status.OK)
  })
})

/** The first field of a FileDescriptorProto. */
function fileName(bytes: Buffer): string {
  return bytes.subarray(2, 2 + (bytes[1] ?? 0)).toString()
}
