import { describe, expect, test, vi } from 'vitest'
import { callOf, createTestRuntime } from '../../../test/support/agents/test-runtime.ts'
import { deferred } from '../../../test/support/async.ts'
import { frame, grpcIncoming, readOutgoing } from '../../../test/support/grpc/grpc-incoming.ts'
import { createRandom } from '../../../test/support/random.ts'
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
const older = 'a2a.v1.A2AService'

interface Calling {
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  /** If it is not called as it is described. */
  readonly path?: string
}

/** A server without a wire, and a caller that speaks JSON. */
function open(service: Service, options: Partial<GrpcOptions> = {}) {
  const onError = vi.fn()
  const exchange = createGrpc({
    service,
    authenticate: () => anonymous,
    dialects: serverDialects({}),
    onError,
    ...options,
  })

  async function call(name: string, request: JsonObject, { path = `/${name}`, ...calling }: Calling = {}) {
    const [serviceName = '', methodName = ''] = name.split('/')
    const { input, output } = methodNamed(serviceNamed(serviceName), methodName)
    const body = [frame(encodeMessage(input, request))]
    const { messages, trailers } = await readOutgoing(await exchange(grpcIncoming({ path, body, ...calling })))
    // biome-ignore lint/suspicious/noExplicitAny: every test knows what it asked for
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
const sending = (text: string) => ({
  message: { messageId: `m-${++sent}`, role: 'ROLE_USER', parts: [{ text }] },
})
const sendingOlder = (text: string) => ({
  message: { messageId: `m-${++sent}`, role: 'ROLE_USER', content: [{ text }] },
})

describe('a call', () => {
  test('is answered by the service', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const { answers, status } = await call(`${lf}/SendMessage`, sending('hello'))
    expect(status).toBe(0)
    expect(answers).toMatchObject([{ message: { role: 'ROLE_AGENT', parts: [{ text: 'hi' }] } }])
  })

  test('may be a stream', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const { answers, status } = await call(`${lf}/SendStreamingMessage`, sending('one'))
    expect(status).toBe(0)
    expect(answers.map((answer) => Object.keys(answer)[0])).toEqual(['task', 'artifactUpdate', 'statusUpdate'])
  })

  test('of an unknown method says what there is', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const { status, message } = await call(`${lf}/GetTask`, {}, { path: `/${lf}/GetTusk` })
    expect(status).toBe(12)
    expect(message).toContain(`There is no /${lf}/GetTusk here, but ${lf}, ${older}, grpc.health.v1.Health`)
  })

  test('with messages that are not protobuf is refused', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const headers = { 'content-type': 'application/grpc+json' }
    expect(await call(`${lf}/GetTask`, { id: 'x' }, { headers })).toMatchObject({ status: 12 })
    const named = { 'content-type': 'application/grpc+proto; charset=utf-8' }
    expect(await call(`${lf}/GetTask`, { id: 'x' }, { headers: named })).toMatchObject({ status: 5 })
  })

  test('with a message over the limit is refused', async () => {
    const { call } = open(createTestRuntime(echo).service, { bodyLimit: 100 })
    expect(await call(`${lf}/SendMessage`, sending('x'.repeat(200)))).toMatchObject({ status: 8 })
  })

  test('that fails unexpectedly tells the caller nothing, and the operator all', async () => {
    const failure = new Error('the secret')
    const service = { ...createTestRuntime(echo).service, getTask: async () => Promise.reject(failure) }
    const { call, onError } = open(service)
    const { status, message, trailers } = await call(`${lf}/GetTask`, { id: 'x' })
    expect({ status, message }).toEqual({ status: 13, message: 'Internal error' })
    expect(JSON.stringify(trailers)).not.toContain('secret')
    expect(onError).toHaveBeenCalledExactlyOnceWith(failure, expect.anything())
  })

  test('is the one of its principal, who may be refused', async () => {
    const { service } = createTestRuntime(echo)
    const { call } = open(service, {
      async authenticate(incoming) {
        const id = incoming.header('authorization')
        if (!id) throw new A2AError('unauthenticated', 'Who are you?')
        return { id }
      },
    })
    const { answers } = await call(`${lf}/SendMessage`, sending('task'), { headers: { authorization: 'ada' } })
    const { id } = answers[0].task
    expect(await service.getTask({ taskId: id }, callOf({ principal: { id: 'ada' } }))).toMatchObject({ id })
    expect(await call(`${lf}/GetTask`, { id }, { headers: { authorization: 'bob' } })).toMatchObject({ status: 5 })
    expect(await call(`${lf}/GetTask`, { id })).toMatchObject({ status: 16, message: 'Who are you?' })
  })

  test('of somebody who is refused is not even read', async () => {
    const { exchange } = open(createTestRuntime(echo).service, {
      authenticate() {
        throw new A2AError('unauthenticated', 'Who are you?')
      },
    })
    const bytes = vi.fn()
    const incoming = { ...grpcIncoming({ path: `/${lf}/SendMessage` }), bytes }
    expect(await readOutgoing(await exchange(incoming))).toMatchObject({ trailers: { 'grpc-status': '16' } })
    expect(bytes).not.toHaveBeenCalled()
  })

  test('is one of 1.0 unless it says otherwise, and another version is refused', async () => {
    const { call } = open(createTestRuntime(echo).service)
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
    expect(await call(`${older}/GetTask`, { name: 'tasks/x' }, { headers })).toMatchObject({ status: 5 })
  })

  test('with the same idempotency key is the same call', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const headers = { 'idempotency-key': 'once' }
    const request = sending('task')
    const first = await call(`${lf}/SendMessage`, request, { headers })
    const second = await call(`${lf}/SendMessage`, request, { headers })
    expect(second.answers[0].task.id).toBe(first.answers[0].task.id)
  })
})

test('whatever bytes come, the caller is told what is wrong with them', async () => {
  const { exchange, onError } = open(createTestRuntime(echo).service)
  const random = createRandom(7)
  const valid = encodeMessage(methodNamed(serviceNamed(lf), 'SendMessage').input, {
    ...sending('hello'),
    configuration: { historyLength: 1, acceptedOutputModes: ['text/plain'] },
    metadata: { a: [1, { b: null }] },
  })
  const statuses = new Set<string | undefined>()
  for (let n = 0; n < 3_000; n++) {
    const message = random.chance(0.3) ? random.bytes(random.below(60)) : Uint8Array.from(valid)
    for (let flips = random.below(4); flips > 0; flips--) message[random.below(message.length)] = random.below(256)
    const path = `/${random.pick([lf, older])}/SendMessage`
    const { trailers } = await readOutgoing(await exchange(grpcIncoming({ path, body: [frame(message)] })))
    statuses.add(trailers['grpc-status'])
  }
  expect(['0', '3', '5']).toEqual(expect.arrayContaining([...statuses]))
  expect(onError).not.toHaveBeenCalled()
})

describe('a stream', () => {
  test('that fails before its first message is a refusal without messages', async () => {
    const { exchange } = open(createTestRuntime(echo).service)
    const { input } = methodNamed(serviceNamed(lf), 'SubscribeToTask')
    const body = [frame(encodeMessage(input, { id: 'none' }))]
    const outgoing = await exchange(grpcIncoming({ path: `/${lf}/SubscribeToTask`, body }))
    expect(outgoing).toMatchObject({ trailers: { 'grpc-status': '5' } })
    expect(outgoing).not.toHaveProperty('first')
  })

  test('that fails later tells it in its trailers', async () => {
    const house = createTestRuntime(echo)
    const service: Service = {
      ...house.service,
      async *streamMessage(request, call) {
        for await (const event of house.service.streamMessage(request, call)) {
          yield event
          throw new A2AError('unavailable', 'Gone.', { retryAfter: 1 })
        }
      },
    }
    const { answers, status, message } = await open(service).call(`${lf}/SendStreamingMessage`, sending('task'))
    expect(answers).toHaveLength(1)
    expect({ status, message }).toEqual({ status: 14, message: 'Gone.' })
  })

  test('goes on after the generation that its reader has seen', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const { answers } = await call(`${lf}/SendMessage`, sending('task'))
    const name = `tasks/${answers[0].task.id}`
    const whole = await call(`${older}/TaskSubscription`, { name })
    const rest = await call(`${older}/TaskSubscription`, { name }, { headers: { 'last-event-id': '2' } })
    expect(whole.answers.map((answer) => Object.keys(answer)[0])).toEqual(['task'])
    expect(rest.answers.map((answer) => Object.keys(answer)[0])).toEqual(['artifactUpdate', 'statusUpdate'])
  })

  test('ends, and lets its source go, when its reader leaves', async () => {
    const { service } = createTestRuntime(async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      return undefined
    })
    const { exchange } = open(service)
    const caller = new AbortController()
    const { input } = methodNamed(serviceNamed(lf), 'SendStreamingMessage')
    const body = [frame(encodeMessage(input, sending('wait')))]
    const incoming = grpcIncoming({ path: `/${lf}/SendStreamingMessage`, body, signal: caller.signal })
    const reading = readOutgoing(await exchange(incoming))
    caller.abort()
    expect((await reading).messages).toHaveLength(1)
  })
})

describe('a deadline', () => {
  const wait = async (turn: Turn) => {
    await turn.status('working')
    await deferred().promise
    return undefined
  }

  test('that passes ends a call, and not its task', async () => {
    const { service } = createTestRuntime(wait)
    const { call } = open(service)
    const headers = { 'grpc-timeout': '50m' }
    expect(await call(`${lf}/SendMessage`, sending('wait'), { headers })).toMatchObject({ status: 4 })
    const { tasks } = await service.listTasks({}, callOf())
    expect(tasks).toMatchObject([{ status: { state: 'working' } }])
  })

  test('that passes ends a stream', async () => {
    const { call } = open(createTestRuntime(wait).service)
    const headers = { 'grpc-timeout': '50m' }
    const { answers, status } = await call(`${lf}/SendStreamingMessage`, sending('wait'), { headers })
    expect(answers).toHaveLength(1)
    expect(status).toBe(4)
  })
})

describe('A2A 0.3', () => {
  test('has a service of its own', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const { answers } = await call(`${older}/SendMessage`, sendingOlder('one'))
    expect(answers).toMatchObject([{ task: { status: { state: 'TASK_STATE_COMPLETED' } } }])
    const { id } = answers[0].task
    const got = await call(`${older}/GetTask`, { name: `tasks/${id}` })
    expect(got.answers).toMatchObject([{ id, history: [{ content: [{ text: 'one' }] }] }])
  })

  test('waits without a configuration, and with one only if it says so', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const stateOf = async (configuration: JsonObject | null = null) => {
      const { answers } = await call(`${older}/SendMessage`, { ...sendingOlder('one'), configuration })
      return answers[0].task.status.state
    }
    expect(await stateOf()).toBe('TASK_STATE_COMPLETED')
    expect(await stateOf({ blocking: true })).toBe('TASK_STATE_COMPLETED')
    expect(await stateOf({})).toBe('TASK_STATE_WORKING')
  })

  test('asks for all of the history with a length of 0', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const { answers } = await call(`${older}/SendMessage`, sendingOlder('one'))
    const name = `tasks/${answers[0].task.id}`
    const got = await call(`${older}/GetTask`, { name, historyLength: 0 })
    expect(got.answers[0].history).toHaveLength(1)
  })

  test('is understood by the names that methods had before', async () => {
    const { call } = open(createTestRuntime(echo).service)
    const request = { parent: 'tasks/x' }
    const path = `/${older}/ListTaskPushNotification`
    const named = await call(`${older}/ListTaskPushNotificationConfig`, request)
    expect(await call(`${older}/ListTaskPushNotificationConfig`, request, { path })).toEqual(named)
    expect(named.message).toBe('This agent sends no push notifications.')
  })

  test('is told of what is not supported by the status that its SDKs know', async () => {
    const { call } = open(createTestRuntime(echo).service)
    expect(await call(`${older}/GetAgentCard`, {})).toMatchObject({ status: 12 })
    expect(await call(`${lf}/GetExtendedAgentCard`, {})).toMatchObject({ status: 9 })
  })

  test('is not served where it is not spoken', async () => {
    const [newest] = serverDialects({})
    const { call } = open(createTestRuntime(echo).service, { dialects: [newest] })
    expect(await call(`${older}/GetTask`, { name: 'tasks/x' })).toMatchObject({ status: 12 })
    expect(await call('grpc.health.v1.Health/Check', { service: older })).toMatchObject({ status: 5 })
  })
})
