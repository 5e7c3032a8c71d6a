import { expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { connect } from '../../../src/core/client/connect.ts'
import { createPushFetch } from '../../../src/core/node/guarded-fetch/push-fetch.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import type { ServePushOptions } from '../../../src/serve/options.ts'
import { until } from '../../support/async.ts'
import { silentLogger } from '../../support/logger.ts'
import { type ReceivedWebhook, startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { hostileUrls } from '../../support/wire/hostile-urls.ts'
import { createWireClient, type WireClient } from '../../support/wire/wire-client.ts'

const url = 'https://example.com/hook'
const secrets = { token: 's3cret', authentication: { scheme: 'Bearer', credentials: 's3cret' } }
const nowhere = { resolve: async () => [{ address: '93.184.215.14', family: 4 }] }

/** An agent with push enabled whose tasks wait for input. */
async function waiting(push: ServePushOptions = nowhere) {
  const { wire, server } = await startTestServer((turn) => turn.requireInput('Which one?').then(() => undefined), {
    push,
  })
  const { id: taskId } = await wire.sendTask('go')
  return { wire, server, taskId }
}

const old = { 'a2a-version': '0.3' }
const oldest = { 'a2a-version': '0.1' }

it('1.0 configs are created, read, listed in pages, replaced by id and deleted', async () => {
  const { wire, taskId } = await waiting()
  const create = (config: object) =>
    wire.result<WireConfig>('CreateTaskPushNotificationConfig', { taskId, url, ...config })
  const one = await create({ id: 'one', ...secrets })
  expect(one).toEqual({ taskId, id: 'one', url, authentication: { scheme: 'Bearer' } })
  const [two, three] = [await create({}), await create({})]
  expect(new Set([one.id, two.id, three.id]).size).toBe(3)
  expect(await wire.result('GetTaskPushNotificationConfig', { taskId, id: 'one' })).toEqual(one)

  expect(await wire.call('GetTaskPushNotificationConfig', { taskId })).toMatchObject({ error: { code: -32602 } })

  expect(await create({ id: 'one', url: `${url}?2` })).toEqual({ taskId, id: 'one', url: `${url}?2` })
  const list = (more: object = {}) =>
    wire.result<{ configs?: WireConfig[]; nextPageToken?: string }>('ListTaskPushNotificationConfigs', {
      taskId,
      ...more,
    })
  expect((await list()).configs?.map(({ id }) => id)).toEqual(['one', two.id, three.id])
  const page = await list({ pageSize: 2 })
  expect(page.configs?.map(({ id }) => id)).toEqual(['one', two.id])
  const rest = await list({ pageSize: 2, pageToken: page.nextPageToken })
  expect(rest).toEqual({ configs: [three] })
  expect(await wire.call('ListTaskPushNotificationConfigs', { taskId, pageToken: 'x' })).toMatchObject({
    error: { code: -32602 },
  })

  for (const _ of ['existing', 'deleted']) {
    expect(await wire.result('DeleteTaskPushNotificationConfig', { taskId, id: 'one' })).toEqual({})
  }
  expect(await wire.call('GetTaskPushNotificationConfig', { taskId, id: 'one' })).toMatchObject({
    error: { code: -32001 },
  })
  expect((await list()).configs).toHaveLength(2)
})

interface WireConfig {
  readonly id: string
  readonly url: string
}

it('0.2 and 0.3 configs without an id replace each other, and configs with an id are kept', async () => {
  const { wire, taskId } = await waiting()
  const ask = (method: string, params: object) => wire.call(`tasks/pushNotificationConfig/${method}`, params, old)
  const set = (config: object) => ask('set', { taskId, pushNotificationConfig: { url, ...config } })
  const authentication = { schemes: ['Basic', 'Bearer'], credentials: 's3cret' }
  await set({})
  const { result } = await set({ token: 's3cret', authentication })
  expect(result).toMatchObject({
    taskId,
    pushNotificationConfig: { url, authentication: { schemes: ['Basic', 'Bearer'] } },
  })
  expect(JSON.stringify(result)).not.toContain('s3cret')
  await set({ id: 'other' })
  expect((await ask('list', { id: taskId })).result).toHaveLength(2)
  expect((await ask('get', { id: taskId })).result).toEqual(result)
  const other = await ask('get', { id: taskId, pushNotificationConfigId: 'other' })
  expect(other.result).toMatchObject({ pushNotificationConfig: { id: 'other' } })
  expect((await ask('delete', { id: taskId, pushNotificationConfigId: 'other' })).result).toBeNull()
  expect((await ask('list', { id: taskId })).result).toHaveLength(1)
  expect(await ask('get', { id: 'unknown' })).toMatchObject({ error: { code: -32001 } })
})

it('a 0.1 task has one config, under the id that the caller chose', async () => {
  const { wire } = await waiting()
  const message = { role: 'user', parts: [{ type: 'text', text: 'go' }] }
  await wire.result('tasks/send', { id: 'mine', message }, oldest)
  const none = await wire.call('tasks/pushNotification/get', { id: 'mine' }, oldest)
  expect(none).toMatchObject({ result: { id: 'mine', pushNotificationConfig: null } })
  const other = await wire.call('tasks/pushNotification/get', { id: 'other' }, oldest)
  expect(other).toMatchObject({ error: { code: -32001 } })
  const client = await connect(wire.url, { dialects: ['v0.1'] })
  await expect(client.task('mine').push.get('any')).rejects.toMatchObject({ code: 'task-not-found' })
  for (const path of ['first', 'second']) {
    const config = { id: 'mine', pushNotificationConfig: { url: `https://example.com/${path}`, token: 's3cret' } }
    const set = await wire.result('tasks/pushNotification/set', config, oldest)
    expect(set).toEqual({ id: 'mine', pushNotificationConfig: { url: `https://example.com/${path}` } })
    expect(await wire.result('tasks/pushNotification/get', { id: 'mine' }, oldest)).toEqual(set)
  }
})

it('configs are created, read, listed and deleted over REST in 1.0, and read in 0.3', async () => {
  const { server, taskId } = await waiting()
  const rest = async (path: string, init: RequestInit = {}) => {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${server.url}${path}`, { headers, ...init })
    return { status: response.status, body: await response.json() }
  }
  const created = await rest(`/tasks/${taskId}/pushNotificationConfigs`, {
    method: 'POST',
    body: JSON.stringify({ url, id: 'one', ...secrets }),
  })
  expect(created).toEqual({ status: 200, body: { taskId, id: 'one', url, authentication: { scheme: 'Bearer' } } })
  expect(await rest(`/tasks/${taskId}/pushNotificationConfigs/one`)).toEqual(created)
  expect((await rest(`/tasks/${taskId}/pushNotificationConfigs`)).body).toEqual({ configs: [created.body] })
  const asBefore = await rest(`/v1/tasks/${taskId}/pushNotificationConfigs/one`)
  expect(JSON.stringify(asBefore.body)).toContain(url)
  expect((await rest(`/tasks/${taskId}/pushNotificationConfigs/one`, { method: 'DELETE' })).status).toBe(200)
  expect((await rest(`/tasks/${taskId}/pushNotificationConfigs/one`)).status).toBe(404)
})

it('webhooks beyond perTask and values that are invalid in a header are rejected', async () => {
  const { wire, taskId } = await waiting({ ...nowhere, perTask: 2 })
  const create = (config: object) => wire.call('CreateTaskPushNotificationConfig', { taskId, url, ...config })
  await create({ id: 'one' })
  await create({ id: 'two' })
  expect(await create({ id: 'one', url: `${url}?again` })).toMatchObject({ result: { id: 'one' } })
  const refused = await create({ id: 'three' })
  expect(refused.error?.message ?? JSON.stringify(refused)).toBeTruthy()
  expect(JSON.stringify(refused.error)).toContain('delete one first')
  for (const wrong of [
    { token: 'a\r\nx-evil: 1' },
    { authentication: { scheme: 'Bearer', credentials: 'a\nb' } },
    { authentication: { scheme: 'Be arer', credentials: 'a' } },
    { url: `https://example.com/${'a'.repeat(3_000)}` },
  ]) {
    expect(await create({ id: 'one', ...wrong })).toMatchObject({ error: { code: -32602 } })
  }
})

it('the card declares push, and every push operation is rejected if it is disabled', async () => {
  const { server } = await waiting()
  const card = await (await fetch(server.cardUrl)).json()
  expect(card.capabilities.pushNotifications).toBe(true)

  const { wire, server: without } = await startTestServer(async () => 'done')
  expect((await (await fetch(without.cardUrl)).json()).capabilities.pushNotifications).toBe(false)
  expect(without.push).toBeUndefined()
  const configuration = { taskPushNotificationConfig: { url } }
  for (const [method, params] of [
    ['CreateTaskPushNotificationConfig', { taskId: 't', url }],
    ['ListTaskPushNotificationConfigs', { taskId: 't' }],
    ['SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] }, configuration }],
  ] as const) {
    expect(await wire.call(method, params)).toMatchObject({ error: { code: -32003 } })
  }
})

it('createHandler rejects push with an unguarded fetch', () => {
  const run = agent({ name: 'Test' }, async () => 'done')
  // @ts-expect-error: the global fetch has no `check`.
  expect(() => createHandler(run, { auth: 'none', push: { fetch } })).toThrow(/createPushFetch/)
})

it('every hostile URL is rejected at registration with the reason, and nothing is stored', async () => {
  const resolve = async (host: string) => {
    const known = hostileUrls.find((each) => each.resolvesTo && new URL(each.url).hostname === host)
    return (known?.resolvesTo ?? ['93.184.215.14']).map((address) => ({
      address,
      family: address.includes(':') ? 6 : 4,
    }))
  }
  const guarded = createPushFetch({ resolve, loopback: 'refuse', schemes: ['https', 'http'] })
  let turns = 0
  const handler = createHandler(
    agent({ name: 'Test' }, (turn) => {
      turns++
      return turn.requireInput('Which?').then(() => undefined)
    }),
    { auth: 'none', push: { fetch: guarded }, logger: silentLogger },
  )
  onTestFinished(() => handler.drain(0))
  const wire = createWireClient('http://agent.test/', (at, init) => handler.fetch(new Request(at, init)))
  const { id: taskId } = await wire.sendTask('go')
  expect(hostileUrls.length).toBeGreaterThan(60)
  for (const hostile of hostileUrls) {
    const created = await wire.call('CreateTaskPushNotificationConfig', { taskId, url: hostile.url })
    expect([hostile.url, created.error?.code]).toEqual([hostile.url, -32602])
    if (hostile.url !== '') expect(JSON.stringify(created.error)).toContain(`(${hostile.reason})`)
    for (const inside of hostile.resolvesTo ?? []) expect(JSON.stringify(created.error)).not.toContain(inside)
    const inline = { configuration: { taskPushNotificationConfig: { url: hostile.url } } }
    await expect(wire.send('go', inline)).rejects.toThrow(/-32602/)
  }
  expect(await wire.result('ListTaskPushNotificationConfigs', { taskId })).toEqual({})
  expect(turns).toBe(1)
})

it('with proveOwnership, a receiver is registered only if it echoes the validation token', async () => {
  const echo = await startWebhookReceiver((got, response) =>
    response.end(got.method === 'GET' ? new URL(got.path, 'http://h').searchParams.get('validationToken') : ''),
  )
  const other = await startWebhookReceiver((_, response) => response.end('hello'))
  const { wire, taskId } = await waiting({ proveOwnership: true })
  const create = (at: string) => wire.call('CreateTaskPushNotificationConfig', { taskId, url: at, token: 's3cret' })
  expect(await create(`${echo.url}?a=1`)).toMatchObject({ result: { url: `${echo.url}?a=1` } })
  expect(echo.requests[0]?.headers).not.toHaveProperty('x-a2a-notification-token')
  expect(JSON.stringify(await create(other.url))).toContain('validationToken')
})

/** The deliveries to a webhook that `register` registers. */
async function deliveriesOf(register: (wire: WireClient, at: string) => Promise<unknown>, push: ServePushOptions = {}) {
  const { url: at, requests } = await startWebhookReceiver()
  const { wire } = await startTestServer(
    async (turn) => {
      await turn.status('working', 'on it')
      await turn.artifact('a').write('x')
      return 'done'
    },
    { push },
  )
  await register(wire, at)
  await until(() => requests.some(({ body }) => /completed/i.test(body)))
  return requests.map((each) => ({ type: each.headers['content-type'], body: JSON.parse(each.body), ...pick(each) }))
}

function pick({ generation, attempt, headers }: ReceivedWebhook) {
  return { generation, attempt, token: headers['x-a2a-notification-token'], authorization: headers.authorization }
}

it('a 1.0 webhook gets every event in the form of a stream', async () => {
  const deliveries = await deliveriesOf((wire, at) =>
    wire.send('go', { configuration: { taskPushNotificationConfig: { url: at, ...secrets } } }),
  )
  expect(deliveries.map(({ body }) => Object.keys(body))).toEqual([
    ['statusUpdate'],
    ['statusUpdate'],
    ['artifactUpdate'],
    ['artifactUpdate'],
    ['statusUpdate'],
  ])
  expect(deliveries[3]?.body.artifactUpdate).toMatchObject({ artifact: { parts: [{ text: '' }] }, lastChunk: true })
  expect(deliveries.map(({ generation }) => generation)).toEqual([2, 3, 4, 5, 6])
  const how = { type: 'application/a2a+json', attempt: 1, token: 's3cret', authorization: 'Bearer s3cret' }
  for (const each of deliveries) expect(each).toMatchObject(how)
})

it('a 1.0 webhook gets a reply without a task as a message', async () => {
  const { url: at, requests } = await startWebhookReceiver()
  const { wire } = await startTestServer(async () => 'hello', { push: {} })
  await wire.send('go', { configuration: { taskPushNotificationConfig: { url: at } } })
  await until(() => requests.length > 0)
  expect(JSON.parse(requests[0]?.body ?? '')).toMatchObject({ message: { parts: [{ text: 'hello' }] } })
})

const message = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'go' }] }

it('a 0.3 webhook gets the plain task when it is idle, or at every status', async () => {
  const register = (wire: WireClient, at: string) =>
    wire.result('message/send', { message, configuration: { pushNotificationConfig: { url: at } } }, old)
  const [rested] = await deliveriesOf(register)
  expect(rested?.type).toBe('application/json')
  expect(rested?.body).toMatchObject({
    kind: 'task',
    status: { state: 'completed', message: { role: 'agent' } },
    artifacts: [{ name: 'a' }],
  })
  const all = await deliveriesOf(register, { events: ['status', 'artifact'] })
  expect(all.map(({ body }) => body.status.state)).toEqual(['submitted', 'working', 'completed'])
  // The payload is the task at the time of the event, before its artifact.
  expect(all[0]?.body).not.toHaveProperty('artifacts')
})

it('a 0.1 webhook gets the status with the id that the caller chose', async () => {
  const [delivery] = await deliveriesOf((wire, at) =>
    wire.result(
      'tasks/send',
      {
        id: 'mine',
        message: { role: 'user', parts: [{ type: 'text', text: 'go' }] },
        pushNotification: { url: at },
      },
      oldest,
    ),
  )
  expect(delivery?.body).toMatchObject({
    eventType: 'taskUpdate',
    taskId: 'mine',
    id: 'mine',
    status: { state: 'completed' },
  })
})

it('push.events limits the events that are delivered', async () => {
  const deliveries = await deliveriesOf(
    (wire, at) => wire.send('go', { configuration: { taskPushNotificationConfig: { url: at } } }),
    { events: ['rest'] },
  )
  expect(deliveries.map(({ generation }) => generation)).toEqual([6])
})

it('a webhook that is registered for a paused task gets the later events', async () => {
  const { url: at, requests } = await startWebhookReceiver()
  const { wire } = await startTestServer(
    async (turn) => (turn.text === 'go' ? turn.requireInput('Which?').then(() => undefined) : 'done'),
    { push: {} },
  )
  const { id: taskId } = await wire.sendTask('go')
  await wire.result('CreateTaskPushNotificationConfig', { taskId, url: at })
  await wire.sendTask('this one', { taskId })
  await until(() => requests.length === 2)
  expect(requests.map(({ body }) => JSON.parse(body))).toMatchObject([
    { statusUpdate: { status: { state: 'TASK_STATE_WORKING' } } },
    { task: { status: { state: 'TASK_STATE_COMPLETED' } } },
  ])
  // A webhook can also be registered for an ended task; it gets nothing.
  expect(await wire.result('CreateTaskPushNotificationConfig', { taskId, url: at })).toMatchObject({ taskId })
})

it.each([
  ['auto', 'the task has the answer as an artifact', false, true],
  ['auto', 'the status has the remark beside an artifact', true, false],
  ['status', 'the status has the answer', false, false],
] as const)('in a webhook with one event per delivery and answers: %s, %s', async (answers, _, writes, isArtifact) => {
  const { url: at, requests } = await startWebhookReceiver()
  const run = async (turn: Turn) => {
    await turn.status('working')
    if (writes) await turn.artifact('text').close('A text')
    return 'Done'
  }
  const { wire } = await startTestServer(run, { push: {}, turns: { answers } })
  const configuration = { taskPushNotificationConfig: { url: at }, returnImmediately: true }
  await wire.result('SendMessage', {
    message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'go' }] },
    configuration,
  })
  await until(() => requests.some(({ body }) => body.includes('TASK_STATE_COMPLETED')))
  const { task, statusUpdate } = JSON.parse(requests.at(-1)?.body ?? '')
  const message = { parts: [{ text: 'Done' }] }
  if (isArtifact) {
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      artifacts: [{ name: 'answer', ...message }],
    })
    expect(task.status.message).toBeUndefined()
  } else expect(statusUpdate).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED', message } })
})
