import { CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest, TaskState } from '@a2a-js/sdk'
import { ClientFactory, JsonRpcTransportFactory } from '@a2a-js/sdk/client'
import { DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler } from '@a2a-js/sdk/server/express'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import type { MeshMethod } from '../../src/entries/mesh.ts'
import { meshAgent } from '../../src/entries/mesh-bridge.ts'
import { serve } from '../../src/serve/serve.ts'
import { count, profile } from '../support/agents/interop-agent.ts'
import { silentLogger } from '../support/logger.ts'
import { startBridgedService } from '../support/mesh/bridged-service.ts'
import { meshPair, meshRequest, post, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { startExpressServer } from '../support/sdk/express-server.ts'
import { sdkAgent, sdkCard } from '../support/sdk/sdk-agent.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

async function startSdkServer(): Promise<string> {
  return await startExpressServer((app, origin) => {
    const requestHandler = new DefaultRequestHandler(sdkCard(origin), new InMemoryTaskStore(), sdkAgent())
    const userBuilder = async () => ({ isAuthenticated: true, userName: 'alice' })
    app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
    app.use('/rpc', jsonRpcHandler({ requestHandler, userBuilder }))
  })
}

async function startParleyServer(): Promise<string> {
  const { server } = await startTestServer(count, { profile, auth: { anonymous: { listAll: true } } })
  return server.url
}

function sendParameters(text: string, more: object = {}) {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more } }
}

describe.each([
  ['Parley', startParleyServer],
  ['@a2a-js/sdk 1.3.0', startSdkServer],
])('a mesh peer and an agent of %s', (_, start) => {
  it('a mesh peer calls all operations through the bridge with signed messages', async () => {
    const client = await connect(await start(), { dialects: ['v1.0'] })
    const { link } = await startBridgedService({ client, patience: 300 })

    expect(await link.request('a2a.send', sendParameters('hello'))).toMatchObject({
      message: { parts: [{ text: 'hi' }] },
    })
    expect(await link.request('a2a.send', sendParameters('count'))).toMatchObject({
      task: {
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ parts: expect.arrayContaining([{ text: expect.stringMatching(/^one/) }]) }],
      },
    })
    expect(await link.request('a2a.send', sendParameters('ask'))).toMatchObject({
      task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } },
    })
    const { task } = (await link.request('a2a.send', sendParameters('wait'))) as {
      task: { id: string; status: object }
    }
    expect(task.status).toMatchObject({ state: 'TASK_STATE_WORKING' })
    const { id } = task
    expect(await link.request('a2a.get', { id })).toMatchObject({ id, status: { state: 'TASK_STATE_WORKING' } })
    expect(await link.request('a2a.list', {})).toMatchObject({
      tasks: expect.arrayContaining([expect.objectContaining({ id })]),
    })
    expect(await link.request('a2a.cancel', { id })).toMatchObject({ id, status: { state: 'TASK_STATE_CANCELED' } })
    expect(await link.request('count', { text: 'count' })).toEqual({
      text: expect.stringMatching(/one.*three|Counted/s),
    })
    await expect(link.request('a2a.get', { id: 'no-such-task' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      details: { reason: 'TASK_NOT_FOUND', a2a: { code: -32001 } },
    })
  })

  it('a mesh peer cannot access tasks of another peer, although the agent sees one caller', async () => {
    const client = await connect(await start(), { dialects: ['v1.0'] })
    const { link, other } = await startBridgedService({ client, patience: 300 })
    const { task } = (await link.request('a2a.send', sendParameters('ask'))) as {
      task: { id: string; contextId: string }
    }
    const { id, contextId } = task
    for (const method of ['a2a.get', 'a2a.cancel']) {
      await expect(other.request(method, { id })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    }
    for (const more of [{ taskId: id }, { contextId }]) {
      await expect(other.request('a2a.send', sendParameters('count', more))).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
    }
    expect(await other.request('a2a.list')).toMatchObject({ tasks: [], totalSize: 0 })
    expect(await link.request('a2a.list')).toMatchObject({ tasks: [{ id }], totalSize: 1 })
  })

  it('an unsigned message is refused', async () => {
    const client = await connect(await start(), { dialects: ['v1.0'] })
    const { endpoint } = await startBridgedService({ client })
    const payload = { method: 'a2a.send', parameters: sendParameters('hello') }
    expect((await post(endpoint, JSON.stringify(meshRequest({ payload })))).status).toBe(401)
  })
})

describe('the client of @a2a-js/sdk 1.3.0 and a mesh agent', () => {
  const keys = { ada: 'ada-secret-key-1', bob: 'bob-secret-key-1' }
  const methods: Readonly<Record<string, MeshMethod>> = {
    get_price: ({ symbol = 'TEA' }) => ({ symbol, price: 4.25 }),
    wait: () => new Promise<never>(() => {}),
  }

  async function open() {
    const { shop, price } = await meshPair({ methods })
    const { endpoint } = await startMeshServer(price)
    const link = shop.link({ agentId: 'price-agent', endpoint })
    const skills = Object.keys(methods).map((id) => ({ id, name: id }))
    const storedKeys = await Promise.all(
      Object.entries(keys).map(async ([id, key]) => ({ id, hash: await hashApiKey(key) })),
    )
    const server = await serve(meshAgent({ link, profile: { name: 'Prices', skills }, answerAs: 'artifact' }), {
      auth: { schemes: { key: apiKey({ keys: storedKeys }) } },
      directory: await temporaryDirectory(),
      signals: false,
      logger: silentLogger,
      drainDeadline: 0,
      turns: { cancelGrace: 10, taskAfter: 50 },
    })
    onTestFinished(() => server.close())
    return async (caller: keyof typeof keys) => {
      const authorizedFetch: typeof fetch = (url, init) => {
        const headers = new Headers(init?.headers)
        headers.set('x-api-key', keys[caller])
        return fetch(url, { ...init, headers })
      }
      const transports = [new JsonRpcTransportFactory({ fetchImpl: authorizedFetch })]
      return await new ClientFactory({ transports }).createFromUrl(server.url)
    }
  }

  function createRequest(skillId: string, configuration: object = {}): SendMessageRequest {
    const parts = [{ data: { symbol: 'COFFEE' } }]
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts, metadata: { skillId } }
    return SendMessageRequest.fromJSON({ message, configuration })
  }

  it('the client calls a mesh peer and does not see tasks of another caller', async () => {
    const as = await open()
    const [ada, bob] = [await as('ada'), await as('bob')]
    const task = await ada.sendMessage(createRequest('get_price'))
    if (!('artifacts' in task)) return expect.fail('no task')
    expect(task.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(task.artifacts[0]?.parts[0]?.content).toMatchObject({ value: { symbol: 'COFFEE', price: 4.25 } })
    const { id } = task
    expect((await ada.getTask(GetTaskRequest.fromJSON({ id }))).id).toBe(id)
    await expect(bob.getTask(GetTaskRequest.fromJSON({ id }))).rejects.toThrow(/not yours/)
    expect((await bob.listTasks(ListTasksRequest.fromJSON({}))).totalSize).toBe(0)
  })

  it('the client cancels a task that waits for a mesh peer', async () => {
    const client = await (await open())('ada')
    const task = await client.sendMessage(createRequest('wait', { returnImmediately: true }))
    if (!('artifacts' in task)) return expect.fail('no task')
    const canceled = await client.cancelTask(CancelTaskRequest.fromJSON({ id: task.id }))
    expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  })
})
