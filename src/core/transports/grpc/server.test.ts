import { describe, expect, test, vi } from 'vitest'
import { callOf, createTestRuntime } from '../../../../test/support/agents/test-runtime.ts'
import { deferred } from '../../../../test/support/async.ts'
import { frame, grpcIncoming, readOutgoing } from '../../../../test/support/grpc/grpc-incoming.ts'
import { createRandom } from '../../../../test/support/random.ts'
import type { Turn } from '../../agent/turn.ts'
import type { JsonObject } from '../../base/json.ts'
import { serverDialects } from '../../dialects/server-dialects.ts'
import { A2AError } from '../../protocol/errors.ts'
import { anonymous } from '../../protocol/model.ts'
import type { Service } from '../../protocol/service.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { methodNamed, serviceNamed } from './proto-registry.ts'
import { createGrpc, type GrpcOptions } from './server.ts'

const lf = 'lf.a2a.v1.A2AService'
const legacy = 'a2a.v1.A2AService'

interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** Defaults to the path of the method. */
  readonly path?: string
}

/** A server without a connection, and a client that takes and returns JSON. */
function createGrpcServer(service: Service, options: Partial<GrpcOptions> = {}) {
  const onError = vi.fn()
  const exchange = createGrpc({
    service,
    authenticate: () => anonymous,
    dialects: serverDialects({}),
    onError,
    ...options,
  })

  async function call(name: string, request: JsonObject, { path = `/${name}`, ...callOptions }: CallOptions = {}) {
    const [serviceName = '', methodName = ''] = name.split('/')
    const { input, output } = methodNamed(serviceNamed(serviceName), methodName)
    const body = [frame(encodeMessage(input, request))]
    const { messages, trailers } = await readOutgoing(await exchange(grpcIncoming({ path, body, ...callOptions })))
    // biome-ignore lint/suspicious/noExplicitAny: each test knows the shape of its response
    const answers: any[] = messages.map((message) => decodeMessage(output, message))
    return { answers, trailers, status: Number(trailers['grpc-status']), message: trailers['grpc-message'] }
  }
  return { call, exchange, onError }
}

async function echo(turn: Turn): Promise<string | undefined> {
  if (turn.text === 'hello') return 'hi'
  await turn.status('working')
  await turn.artifact('answer').close(turn.text)
  return undefined
}

let sent = 0
const sendRequest = (text: string) => ({
  message: { messageId: `m-${++sent}`, role: 'ROLE_USER', parts: [{ text }] },
})
const legacySendRequest = (text: string) => ({
  message: { messageId: `m-${++sent}`, role: 'ROLE_USER', content: [{ text }] },
})

describe('a call', () => {
  test('a unary call returns the result of the service', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const { answers, status } = await call(`${lf}/SendMessage`, sendRequest('hello'))
    expect(status).toBe(0)
    expect(answers).toMatchObject([{ message: { role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }])
  })

  test('a streaming call returns one message per event', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const { answers, status } = await call(`${lf}/SendStreamingMessage`, sendRequest('one'))
    expect(status).toBe(0)
    expect(answers.map((answer) => Object.keys(answer)[0])).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
  })

  test('a call of an unknown method fails with the names of all services', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const { status, message } = await call(`${lf}/GetTask`, {}, { path: `/${lf}/GetTusk` })
    expect(status).toBe(12)
    expect(message).toContain(`There is no /${lf}/GetTusk here, but ${lf}, ${legacy}, grpc.health.v1.Health`)
  })

  test('a call whose messages are not protobuf is rejected', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const headers = { 'content-type': 'application/grpc+json' }
    expect(await call(`${lf}/GetTask`, { id: 'x' }, { headers })).toMatchObject({ status: 12 })
    const named = { 'content-type': 'application/grpc+proto; charset=utf-8' }
    expect(await call(`${lf}/GetTask`, { id: 'x' }, { headers: named })).toMatchObject({ status: 5 })
  })

  test('a call with a message over the limit is rejected', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service, { bodyLimit: 100 })
    expect(await call(`${lf}/SendMessage`, sendRequest('x'.repeat(200)))).toMatchObject({ status: 8 })
  })

  test('an unexpected error reaches the operator and not the caller', async () => {
    const failure = new Error('the secret')
    const service = { ...createTestRuntime(echo).service, getTask: async () => Promise.reject(failure) }
    const { call, onError } = createGrpcServer(service)
    const { status, message, trailers } = await call(`${lf}/GetTask`, { id: 'x' })
    expect({ status, message }).toEqual({ status: 13, message: 'Internal error' })
    expect(JSON.stringify(trailers)).not.toContain('secret')
    expect(onError).toHaveBeenCalledExactlyOnceWith(failure, expect.anything())
  })

  test('a call runs as its principal, and fails if authentication rejects it', async () => {
    const { service } = createTestRuntime(echo)
    const { call } = createGrpcServer(service, {
      async authenticate(incoming) {
        const id = incoming.header('authorization')
        if (!id) throw new A2AError('unauthenticated', 'Who are you?')
        return { id }
      },
    })
    const { answers } = await call(`${lf}/SendMessage`, sendRequest('task'), { headers: { authorization: 'ada' } })
    const { id } = answers[0].task
    expect(await service.getTask({ taskId: id }, callOf({ principal: { id: 'ada' } }))).toMatchObject({ id })
    expect(await call(`${lf}/GetTask`, { id }, { headers: { authorization: 'bob' } })).toMatchObject({ status: 5 })
    expect(await call(`${lf}/GetTask`, { id })).toMatchObject({ status: 16, message: 'Who are you?' })
  })

  test('the body of an unauthenticated call is not read', async () => {
    const { exchange } = createGrpcServer(createTestRuntime(echo).service, {
      authenticate() {
        throw new A2AError('unauthenticated', 'Who are you?')
      },
    })
    const bytes = vi.fn()
    const incoming = { ...grpcIncoming({ path: `/${lf}/SendMessage` }), bytes }
    expect(await readOutgoing(await exchange(incoming))).toMatchObject({ trailers: { 'grpc-status': '16' } })
    expect(bytes).not.toHaveBeenCalled()
  })

  test('a call without a2a-version is 1.0, and another version is rejected', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    for (const version of ['', '1.0', '1', '1.0.1']) {
      expect(await call(`${lf}/GetTask`, { id: 'x' }, { headers: { 'a2a-version': version } })).toMatchObject({
        status: 5,
      })
    }
    for (const version of ['0.3', '2.0', 'new']) {
      const refused = await call(`${lf}/GetTask`, { id: 'x' }, { headers: { 'a2a-version': version } })
      expect(refused).toMatchObject({ status: 9, message: expect.stringContaining('Supported: 1.0') })
    }
    const headers = { 'a2a-version': '0.3' }
    expect(await call(`${legacy}/GetTask`, { name: 'tasks/x' }, { headers })).toMatchObject({ status: 5 })
  })

  test('two calls with the same idempotency key create one task', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const headers = { 'idempotency-key': 'once' }
    const request = sendRequest('task')
    const first = await call(`${lf}/SendMessage`, request, { headers })
    const second = await call(`${lf}/SendMessage`, request, { headers })
    expect(second.answers[0].task.id).toBe(first.answers[0].task.id)
  })
})

test('arbitrary bytes never cause an internal error', async () => {
  const { exchange, onError } = createGrpcServer(createTestRuntime(echo).service)
  const random = createRandom(7)
  const valid = encodeMessage(methodNamed(serviceNamed(lf), 'SendMessage').input, {
    ...sendRequest('hello'),
    configuration: { historyLength: 1, acceptedOutputModes: ['text/plain'] },
    metadata: { a: [1, { b: null }] },
  })
  const statuses = new Set<string | undefined>()
  for (let n = 0; n < 3_000; n++) {
    const message = random.chance(0.3) ? random.bytes(random.below(60)) : Uint8Array.from(valid)
    for (let flips = random.below(4); flips > 0; flips--) message[random.below(message.length)] = random.below(256)
    const path = `/${random.pick([lf, legacy])}/SendMessage`
    const { trailers } = await readOutgoing(await exchange(grpcIncoming({ path, body: [frame(message)] })))
    statuses.add(trailers['grpc-status'])
  }
  expect(['0', '3', '5']).toEqual(expect.arrayContaining([...statuses]))
  expect(onError).not.toHaveBeenCalled()
})

describe('a stream', () => {
  test('a stream that fails before its first message sends only trailers', async () => {
    const { exchange } = createGrpcServer(createTestRuntime(echo).service)
    const { input } = methodNamed(serviceNamed(lf), 'SubscribeToTask')
    const body = [frame(encodeMessage(input, { id: 'none' }))]
    const outgoing = await exchange(grpcIncoming({ path: `/${lf}/SubscribeToTask`, body }))
    expect(outgoing).toMatchObject({ trailers: { 'grpc-status': '5' } })
    expect(outgoing).not.toHaveProperty('first')
  })

  test('a stream that fails later reports the error in its trailers', async () => {
    const runtime = createTestRuntime(echo)
    const service: Service = {
      ...runtime.service,
      async *streamMessage(request, call) {
        for await (const event of runtime.service.streamMessage(request, call)) {
          yield event
          throw new A2AError('unavailable', 'Gone.', { retryAfter: 1 })
        }
      },
    }
    const { answers, status, message } = await createGrpcServer(service).call(
      `${lf}/SendStreamingMessage`,
      sendRequest('task'),
    )
    expect(answers).toHaveLength(1)
    expect({ status, message }).toEqual({ status: 14, message: 'Gone.' })
  })

  test('a resumed stream continues after the generation in last-event-id', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const { answers } = await call(`${lf}/SendMessage`, sendRequest('task'))
    const name = `tasks/${answers[0].task.id}`
    const full = await call(`${legacy}/TaskSubscription`, { name })
    const rest = await call(`${legacy}/TaskSubscription`, { name }, { headers: { 'last-event-id': '3' } })
    expect(full.answers.map((answer) => Object.keys(answer)[0])).toEqual(['task'])
    expect(rest.answers.map((answer) => Object.keys(answer)[0])).toEqual(['artifactUpdate', 'statusUpdate'])
  })

  test('a stream ends and releases its source when its reader leaves', async () => {
    const { service } = createTestRuntime(async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return undefined
    })
    const { exchange } = createGrpcServer(service)
    const caller = new AbortController()
    const { input } = methodNamed(serviceNamed(lf), 'SendStreamingMessage')
    const body = [frame(encodeMessage(input, sendRequest('wait')))]
    const incoming = grpcIncoming({ path: `/${lf}/SendStreamingMessage`, body, signal: caller.signal })
    const reading = readOutgoing(await exchange(incoming))
    caller.abort()
    expect((await reading).messages.length).toBeLessThanOrEqual(2)
  })
})

describe('a deadline', () => {
  const wait = async (turn: Turn) => {
    await turn.status('working')
    await deferred().promise
    return undefined
  }

  test('a deadline that passes ends the call and not its task', async () => {
    const { service } = createTestRuntime(wait)
    const { call } = createGrpcServer(service)
    const headers = { 'grpc-timeout': '50m' }
    expect(await call(`${lf}/SendMessage`, sendRequest('wait'), { headers })).toMatchObject({ status: 4 })
    const { tasks } = await service.listTasks({}, callOf())
    expect(tasks).toMatchObject([{ status: { state: 'working' } }])
  })

  test('a deadline that passes ends a stream', async () => {
    const { call } = createGrpcServer(createTestRuntime(wait).service)
    const headers = { 'grpc-timeout': '50m' }
    const { answers, status } = await call(`${lf}/SendStreamingMessage`, sendRequest('wait'), { headers })
    expect(answers).toHaveLength(2)
    expect(status).toBe(4)
  })
})

describe('A2A 0.3', () => {
  test('A2A 0.3 has its own service', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const { answers } = await call(`${legacy}/SendMessage`, legacySendRequest('one'))
    expect(answers).toMatchObject([{ task: { status: { state: 'TASK_STATE_COMPLETED' } } }])
    const { id } = answers[0].task
    const got = await call(`${legacy}/GetTask`, { name: `tasks/${id}` })
    expect(got.answers).toMatchObject([{ id, history: [{ content: [{ text: 'one' }] }] }])
  })

  test('a 0.3 send blocks without a configuration, and with one only if it is blocking', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const stateOf = async (configuration: JsonObject | null = null) => {
      const { answers } = await call(`${legacy}/SendMessage`, { ...legacySendRequest('one'), configuration })
      return answers[0].task.status.state
    }
    expect(await stateOf()).toBe('TASK_STATE_COMPLETED')
    expect(await stateOf({ blocking: true })).toBe('TASK_STATE_COMPLETED')
    expect(await stateOf({})).toBe('TASK_STATE_SUBMITTED')
  })

  test('a 0.3 history length of 0 requests the whole history', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const { answers } = await call(`${legacy}/SendMessage`, legacySendRequest('one'))
    const name = `tasks/${answers[0].task.id}`
    const got = await call(`${legacy}/GetTask`, { name, historyLength: 0 })
    expect(got.answers[0].history).toHaveLength(1)
  })

  test('a 0.3 method can be called by its former name', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    const request = { parent: 'tasks/x' }
    const path = `/${legacy}/ListTaskPushNotification`
    const named = await call(`${legacy}/ListTaskPushNotificationConfig`, request)
    expect(await call(`${legacy}/ListTaskPushNotificationConfig`, request, { path })).toEqual(named)
    expect(named.message).toMatch(/^PushNotificationNotSupportedError: .*This agent sends no push notifications\.$/)
  })

  test('unsupported operations have the status that 0.3 SDKs recognize', async () => {
    const { call } = createGrpcServer(createTestRuntime(echo).service)
    expect(await call(`${legacy}/GetAgentCard`, {})).toMatchObject({ status: 12 })
    expect(await call(`${lf}/GetExtendedAgentCard`, {})).toMatchObject({ status: 9 })
  })

  test('the 0.3 service is absent when the dialect is disabled', async () => {
    const [newest] = serverDialects({})
    const { call } = createGrpcServer(createTestRuntime(echo).service, { dialects: [newest] })
    expect(await call(`${legacy}/GetTask`, { name: 'tasks/x' })).toMatchObject({ status: 12 })
    expect(await call('grpc.health.v1.Health/Check', { service: legacy })).toMatchObject({ status: 5 })
  })
})
