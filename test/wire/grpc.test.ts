import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { compressionAlgorithms, type Metadata, type ServiceError, status } from '@grpc/grpc-js'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import { decodeMessage } from '../../src/transports/grpc/codec.ts'
import { messageNamed } from '../../src/transports/grpc/proto-registry.ts'
import { deferred, until } from '../support/async.ts'
import { type GrpcMessage, grpcClient, readAll } from '../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

const lf = 'lf.a2a.v1.A2AService'

async function open(run: (turn: Turn) => Promise<string | undefined>, options: TestServerOptions = {}) {
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
function sending(text: string, more: object = {}) {
  return { message: { messageId: `m-${++sent}`, role: 'ROLE_USER', parts: [{ text }] }, ...more }
}

function failed(promise: Promise<unknown>): Promise<ServiceError> {
  return promise.then(
    () => Promise.reject(new Error('expected a failure')),
    (error) => error,
  )
}

function detailsOf(metadata: Metadata): GrpcMessage {
  const [bytes] = metadata.get('grpc-status-details-bin')
  return decodeMessage(messageNamed('google.rpc.Status'), bytes as Buffer)
}

describe('over gRPC', () => {
  test('a message is answered', async () => {
    const { client } = await open(echo)
    const { message } = await client.unary(`${lf}/SendMessage`, sending('hello'))
    expect(message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'hi' }] })
  })

  test('a task is made, read, listed and refused to be canceled', async () => {
    const { client } = await open(echo)
    const { task } = await client.unary(`${lf}/SendMessage`, sending('one'))
    const { id } = task
    const got = await client.unary(`${lf}/GetTask`, { id })
    expect(got).toMatchObject({ id, status: { state: 'TASK_STATE_COMPLETED' } })
    const page = await client.unary(`${lf}/ListTasks`, { pageSize: 10 })
    expect(page).toMatchObject({ tasks: [{ id }], totalSize: 1 })
    const error = await failed(client.unary(`${lf}/CancelTask`, { id }))
    expect(error.code).toBe(status.FAILED_PRECONDITION)
    expect(detailsOf(error.metadata).details[0].reason).toBe('TASK_NOT_CANCELABLE')
  })

  test('a stream tells the task and what becomes of it', async () => {
    const { client } = await open(echo)
    const { messages, status: ended } = await readAll(client.stream(`${lf}/SendStreamingMessage`, sending('one')))
    expect(messages.map((message) => Object.keys(message)[0])).toEqual(['task', 'artifactUpdate', 'statusUpdate'])
    expect(ended.code).toBe(status.OK)
  })

  test('an error has its details in the trailers', async () => {
    const { client } = await open(echo)
    const missing = await failed(client.unary(`${lf}/GetTask`, { id: 'nö' }))
    expect(missing).toMatchObject({ code: status.NOT_FOUND, details: 'There is no task nö, or it is not yours.' })
    expect(detailsOf(missing.metadata)).toMatchObject({
      code: 5,
      details: [{ reason: 'TASK_NOT_FOUND', domain: 'a2a-protocol.org' }],
    })
    const wrong = await failed(client.unary(`${lf}/SendMessage`, { message: { messageId: 'x', role: 'ROLE_USER' } }))
    expect(wrong.code).toBe(status.INVALID_ARGUMENT)
    expect(detailsOf(wrong.metadata).details[0].fieldViolations[0].field).toBe('message.parts')
  })

  test('an error before a stream begins comes without headers, and ends it', async () => {
    const { client } = await open(echo)
    const { messages, status: ended } = await readAll(client.stream(`${lf}/SubscribeToTask`, { id: 'none' }))
    expect(messages).toEqual([])
    expect(ended).toMatchObject({ code: status.NOT_FOUND })
    expect(detailsOf(ended.metadata).details[0].reason).toBe('TASK_NOT_FOUND')
  })

  test('the extended card is given by both services, and refused by both if there is none', async () => {
    const methods = [`${lf}/GetExtendedAgentCard`, 'a2a.v1.A2AService/GetAgentCard'] as const
    const extendedCard = { skills: [{ id: 'secret', name: 'Secret', description: 'Only for some', tags: ['inner'] }] }
    const { client } = await open(echo, { extendedCard })
    for (const method of methods) {
      expect(await client.unary(method, {})).toMatchObject({ name: 'Test', skills: [{ id: 'secret' }] })
    }
    const { client: without } = await open(echo)
    const refused = await Promise.all(methods.map((method) => failed(without.unary(method, {}))))
    expect(refused.map(({ code }) => code)).toEqual([status.FAILED_PRECONDITION, status.UNIMPLEMENTED])
    for (const { metadata } of refused) expect(detailsOf(metadata).details[0].reason).toBe('UNSUPPORTED_OPERATION')
  })

  test('a method that there is not is not implemented', async () => {
    const { server, client } = await open(echo)
    const error = await failed(client.unary('a2a.v1.A2AService/GetTask', { name: 'tasks/x' }))
    expect(error.code).toBe(status.NOT_FOUND)
    const picky = await startTestServer(echo, { grpc: true, dialects: ['v1.0'] })
    const other = grpcClient(picky.server.port)
    expect(server.port).not.toBe(picky.server.port)
    expect(await failed(other.unary('a2a.v1.A2AService/GetTask', { name: 'tasks/x' }))).toMatchObject({
      code: status.UNIMPLEMENTED,
    })
  })

  test('a deadline that passes ends the call and not the task', async () => {
    const stop = deferred()
    const { client, wire } = await open(async (turn) => {
      await turn.status('working')
      await stop.promise
      return undefined
    })
    const deadline = Date.now() + 200
    const error = await failed(client.unary(`${lf}/SendMessage`, sending('wait'), { deadline }))
    expect(error.code).toBe(status.DEADLINE_EXCEEDED)
    stop.resolve()
    const page = await wire.result<GrpcMessage>('ListTasks', {})
    await until(async () => (await wire.getTask(page.tasks[0].id)).status.state === 'TASK_STATE_COMPLETED')
  })

  test('a reader that cancels its stream leaves the task at work', async () => {
    const stop = deferred()
    const { client, wire } = await open(async (turn) => {
      await turn.status('working')
      await stop.promise
      return undefined
    })
    const stream = client.stream(`${lf}/SendStreamingMessage`, sending('wait'))
    const [{ task }] = (await once(stream, 'data')) as GrpcMessage[]
    const ended = readAll(stream)
    stream.cancel()
    expect((await ended).status.code).toBe(status.CANCELLED)
    expect((await wire.getTask(task.id)).status.state).toBe('TASK_STATE_WORKING')
    stop.resolve()
    await until(async () => (await wire.getTask(task.id)).status.state === 'TASK_STATE_COMPLETED')
  })

  test('messages of megabytes come and go whole', async () => {
    const { server } = await open(echo)
    const client = grpcClient(server.port, { 'grpc.max_receive_message_length': -1 })
    const text = 'ä'.repeat(2_000_000)
    const answers = await Promise.all(Array.from({ length: 5 }, () => client.unary(`${lf}/SendMessage`, sending(text))))
    for (const { task } of answers) expect(task.artifacts[0].parts[0].text).toBe(text)
  })

  test('a message over the limit is refused, and its connection goes on', async () => {
    const { client } = await open(echo, { http: { bodyLimit: 100_000 } })
    const error = await failed(client.unary(`${lf}/SendMessage`, sending('x'.repeat(5_000_000))))
    expect(error.code).toBe(status.RESOURCE_EXHAUSTED)
    const { message } = await client.unary(`${lf}/SendMessage`, sending('hello'))
    expect(message.parts[0].text).toBe('hi')
  })

  test('compressed messages are read', async () => {
    const { server } = await open(echo)
    for (const algorithm of [compressionAlgorithms.gzip, compressionAlgorithms.deflate]) {
      const client = grpcClient(server.port, { 'grpc.default_compression_algorithm': algorithm })
      const text = 'again and '.repeat(10_000)
      const { task } = await client.unary(`${lf}/SendMessage`, sending(text))
      expect(task.history[0].parts[0].text).toBe(text)
    }
  })

  test('a slow reader gets every event, in order', async () => {
    const { server } = await open(async (turn) => {
      const numbers = turn.artifact('numbers')
      for (let n = 0; n < 300; n++) await numbers.write(`${n} ${'x'.repeat(5_000)}`)
      await numbers.close()
      return undefined
    })
    const stream = grpcClient(server.port).stream(`${lf}/SendStreamingMessage`, sending('count'))
    const seen: number[] = []
    for await (const { artifactUpdate } of stream) {
      const text = artifactUpdate?.artifact.parts[0].text
      if (text) seen.push(Number.parseInt(text, 10))
      if (seen.length % 50 === 0) await new Promise((resolve) => setTimeout(resolve, 20))
    }
    expect(seen).toEqual(Array.from({ length: 300 }, (_, n) => n))
  })
})

describe('on one port', () => {
  test('a thousand calls of gRPC and HTTP/1.1 go side by side', async () => {
    const { client, wire } = await open(echo)
    const texts = Array.from({ length: 1_000 }, (_, n) => `number ${n}`)
    const answers = await Promise.all(
      texts.map(async (text, n) => {
        if (n % 2 === 1) return (await wire.sendTask(text)).artifacts?.[0]?.parts[0]?.text
        const { task } = await client.unary(`${lf}/SendMessage`, sending(text))
        return task.artifacts[0].parts[0].text
      }),
    )
    expect(answers).toEqual(texts)
  })

  test('plain HTTP/2 has what HTTP/1.1 has, on the same connection as gRPC', async () => {
    const { server } = await open(echo)
    const session = connectHttp2(server.url)
    onTestFinished(() => session.destroy())
    const card = await request(session, { ':path': '/.well-known/agent-card.json' })
    expect(card).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } })
    expect(JSON.parse(card.body).supportedInterfaces[0].url).toContain(server.url)

    const headers = { ':method': 'POST', ':path': '/', 'content-type': 'application/json', 'a2a-version': '1.0' }
    const call = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: sending('one') })
    const answer = await request(session, headers, call('SendMessage'))
    expect(JSON.parse(answer.body).result.task.artifacts[0].parts[0].text).toBe('one')
    const stream = await request(session, headers, call('SendStreamingMessage'))
    expect(stream.headers['content-type']).toBe('text/event-stream')
    expect(stream.body.match(/^data: /gm)).toHaveLength(3)

    const grpc = { ':method': 'POST', ':path': '/grpc.health.v1.Health/Check', 'content-type': 'application/grpc' }
    const health = await request(session, grpc, Buffer.alloc(5))
    expect(health).toMatchObject({ status: 200, trailers: { 'grpc-status': '0' } })
    const head = await request(session, { ':method': 'HEAD', ':path': '/healthz' })
    expect(head).toMatchObject({ status: 200, body: '' })
  })
})

interface Http2Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly trailers: Readonly<Record<string, unknown>>
  readonly body: string
}

async function request(
  session: ReturnType<typeof connectHttp2>,
  headers: Readonly<Record<string, string>>,
  sent?: string | Buffer,
): Promise<Http2Answer> {
  const stream = session.request(headers, { endStream: sent === undefined })
  if (sent !== undefined) stream.end(sent)
  let received: Record<string, unknown> = {}
  let trailers: Record<string, unknown> = {}
  stream.on('response', (response) => {
    received = response
  })
  stream.on('trailers', (response) => {
    trailers = response
  })
  stream.setEncoding('utf8')
  let body = ''
  for await (const chunk of stream) body += chunk
  return { status: Number(received[':status']), headers: received, trailers, body }
}

describe('health', () => {
  test('is told for the server and for each service', async () => {
    const { client } = await open(echo)
    for (const service of ['', lf, 'a2a.v1.A2AService']) {
      const health = await client.unary('grpc.health.v1.Health/Check', { service })
      expect(health.status).toBe('SERVING')
    }
    expect(await failed(client.unary('grpc.health.v1.Health/Check', { service: 'other' }))).toMatchObject({
      code: status.NOT_FOUND,
    })
  })

  test('changes when the server closes, which a watcher learns and does not hold up', async () => {
    const { client, server } = await open(echo)
    const watch = client.stream('grpc.health.v1.Health/Watch', { service: '' })
    const unknown = client.stream('grpc.health.v1.Health/Watch', { service: 'other' })
    const [first] = (await once(watch, 'data')) as GrpcMessage[]
    expect(first.status).toBe('SERVING')
    const [other] = (await once(unknown, 'data')) as GrpcMessage[]
    expect(other.status).toBe('SERVICE_UNKNOWN')
    const ended = Promise.all([readAll(watch), readAll(unknown)])
    const begin = performance.now()
    await server.close()
    expect(performance.now() - begin).toBeLessThan(900)
    const [{ messages }, { messages: none }] = await ended
    expect(messages.map((message) => message.status)).toEqual(['NOT_SERVING'])
    expect(none).toEqual([])
  })
})

describe.each(['v1', 'v1alpha'])('reflection %s', (version) => {
  const method = `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`

  test('lists the services, and gives files by name and by symbol, question by question', async () => {
    const { client } = await open(echo)
    const conversation = client.bidirectional(method)
    const ask = async (question: object): Promise<GrpcMessage> => {
      conversation.write(question)
      const [answer] = (await once(conversation, 'data')) as GrpcMessage[]
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
    const ended = readAll(conversation)
    conversation.end()
    expect((await ended).status.code).toBe(status.OK)
  })
})

/** The first field of a FileDescriptorProto. */
function fileName(bytes: Buffer): string {
  return bytes.subarray(2, 2 + (bytes[1] ?? 0)).toString()
}
