import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../../src/core/client/connect.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import type { A2AError } from '../../../src/core/protocol/errors.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { createJsonRpcClient } from '../../../src/core/transports/jsonrpc/client.ts'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect, until } from '../../support/async.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'

const keys = await Promise.all(['alice', 'bob'].map(async (id) => ({ id, hash: await hashApiKey(id) })))
const schemes = { key: apiKey({ keys }) }
const push = { loopback: 'allow' as const, resolve: async () => [{ address: '93.184.215.14', family: 4 }] }
type Who = 'alice' | 'bob'

/** The payload for a task that waits for input, by the dialect of the registration. */
const payloads: Readonly<Record<DialectName, object>> = {
  'v1.1': { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' }, generation: '2' } },
  'v1.0': { statusUpdate: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } },
  'v0.3': { kind: 'task', status: { state: 'input-required' } },
  // SDKs read the JSON with `kind` at their webhooks, even if they registered them over REST or gRPC.
  'v0.3-proto': { kind: 'task', status: { state: 'input-required' } },
  'v0.3-house': { kind: 'task', status: { state: 'input-required' } },
  'v0.2': { kind: 'task', status: { state: 'input-required' } },
  'v0.1': { eventType: 'taskUpdate', taskId: 'mine', status: { state: 'input-required' } },
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  const isOldest = dialect === 'v0.1'
  const alias = isOldest ? { quirks: { alias: 'mine' } } : {}
  const isAlias = isOldest ? { isAlias: true } : {}

  async function open(options: TestServerOptions = {}) {
    const { server } = await startTestServer(
      async (turn) => {
        if (turn.text === 'end') return 'done'
        await turn.requireInput('more?')
        return undefined
      },
      { auth: { schemes }, grpc: true, push, dialects: { house: { holdStreamOnInput: false } }, ...options },
    )
    return async (who: Who): Promise<Service> => {
      const headers: Record<string, string> = { 'x-api-key': who }
      if (dialect === 'v0.3-house') {
        const ask: typeof fetch = (url, init) =>
          fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } })
        return createJsonRpcClient({ url: `${server.url}/api/a2a`, dialect: v0_3HouseClient, fetch: ask as never })
      }
      const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
      onTestFinished(() => transport?.close())
      const bindings = [transport ?? binding]
      const authorize = () => ({ headers })
      return (await connect(server.url, { dialects: [dialect], bindings, authorize, retry: { tries: 1 } })).service
    }
  }

  async function begin(service: Service) {
    const { id: taskId } = taskOf(await service.sendMessage({ message: messageOf('go'), ...alias }, callOf()))
    return { taskId, ...isAlias }
  }

  /** The result or the error code, as JSON. */
  const outcomeOf = async (work: Promise<unknown>) => {
    const outcome = await work.catch(({ code }: A2AError) => ({ code }))
    return JSON.stringify(outcome ?? null)
  }

  it('configs are created, read, listed and deleted, and responses never contain their secrets', async () => {
    const alice = await (await open())('alice')
    const task = await begin(alice)
    const secret = { token: 's3cret', authentication: { scheme: 'Bearer', credentials: 's3cret' } }
    const create = (id: string, url: string) => alice.createPushConfig({ ...task, id, url, ...secret }, callOf())
    const answers = [await outcomeOf(create('one', 'https://example.com/1'))]
    answers.push(await outcomeOf(alice.getPushConfig({ ...task, id: 'one' }, callOf())))
    expect(answers[1]).toContain('https://example.com/1')
    if (!isOldest) {
      await create('two', 'https://example.com/2')
      await create('one', 'https://example.com/3')
      const listed = await alice.listPushConfigs(task, callOf())
      answers.push(JSON.stringify(listed))
      const urls = listed.configs.map(({ id, url }) => [id, url])
      expect(urls.sort()).toEqual([
        ['one', 'https://example.com/3'],
        ['two', 'https://example.com/2'],
      ])
      for (const _ of ['existing', 'deleted']) await alice.deletePushConfig({ ...task, id: 'one' }, callOf())
      expect((await alice.listPushConfigs(task, callOf())).configs.map(({ id }) => id)).toEqual(['two'])
      expect(await outcomeOf(alice.getPushConfig({ ...task, id: 'one' }, callOf()))).toContain('task-not-found')
    }
    for (const answer of answers) expect(answer).not.toContain('s3cret')
  })

  it.each(['sendMessage', 'streamMessage'] as const)('a config sent with %s receives a webhook', async (how) => {
    const hook = await startWebhookReceiver()
    const alice = await (await open())('alice')
    const request = {
      message: messageOf('go'),
      ...alias,
      configuration: { push: { url: hook.url, token: 't', authentication: { scheme: 'Bearer', credentials: 'c' } } },
    }
    if (how === 'sendMessage') await alice.sendMessage(request, callOf())
    else await collect(alice.streamMessage(request, callOf()))
    const paused = () => hook.requests.find(({ body }) => /input.required/i.test(body))
    await until(() => paused() !== undefined)
    expect(paused()?.headers).toMatchObject({
      'x-a2a-notification-token': 't',
      authorization: 'Bearer c',
      'x-a2a-attempt': '1',
      'x-a2a-generation': expect.stringMatching(/^3$/),
      'x-a2a-delivery-id': expect.stringMatching(/^[^.]+\.3$/),
      traceparent: expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-0\d$/),
    })
    expect(paused()?.headers['content-type']).toBe(dialect === 'v1.0' ? 'application/a2a+json' : 'application/json')
    expect(JSON.parse(paused()?.body ?? '')).toMatchObject(payloads[dialect])
  })

  if (dialect === 'v0.3-proto') {
    it('a webhook gets ProtoJSON if the operator sets protoJson', async () => {
      const hook = await startWebhookReceiver()
      const alice = await (await open({ push: { ...push, protoJson: true } }))('alice')
      await alice.sendMessage({ message: messageOf('go'), configuration: { push: { url: hook.url } } }, callOf())
      await until(() => hook.requests.length > 0)
      const body = JSON.parse(hook.requests[0]?.body ?? '')
      expect(body).toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
      expect(body).not.toHaveProperty('kind')
    })
  }

  it('a config that is registered after the end of the task receives nothing', async () => {
    const hook = await startWebhookReceiver()
    const alice = await (await open())('alice')
    const message = messageOf('end')
    const outcome = await alice.sendMessage({ message, ...alias, configuration: { returnImmediately: true } }, callOf())
    const task = { taskId: taskOf(outcome).id, ...isAlias }
    await until(async () => (await alice.getTask(task, callOf())).status.state === 'completed')
    await alice.createPushConfig({ ...task, id: 'late', url: hook.url }, callOf())
    expect((await alice.getPushConfig({ ...task, id: 'late' }, callOf())).url).toBe(hook.url)
    expect(hook.requests).toEqual([])
  })

  it('bob cannot read, change or delete the configs of alice', async () => {
    const connectAs = await open()
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    const task = await begin(alice)
    await alice.createPushConfig({ ...task, id: 'p', url: 'https://example.com/alice' }, callOf())
    const attempts = (of: typeof task) => [
      bob.createPushConfig({ ...of, id: 'p', url: 'https://example.com/bob' }, callOf()),
      bob.getPushConfig({ ...of, id: 'p' }, callOf()),
      ...(isOldest ? [] : [bob.listPushConfigs(of, callOf()), bob.deletePushConfig({ ...of, id: 'p' }, callOf())]),
    ]
    for (const attempt of attempts(task)) expect(await outcomeOf(attempt)).toBe('{"code":"task-not-found"}')
    const kept = await alice.getPushConfig({ ...task, id: 'p' }, callOf())
    expect(kept.url).toBe('https://example.com/alice')
  })

  // In 0.1 every caller has its own task ids.
  if (isOldest) return

  it('a caller with access to a task of another caller has its own configs', async () => {
    const hooks = { alice: await startWebhookReceiver(), bob: await startWebhookReceiver() }
    const connectAs = await open({ auth: { schemes, policy: () => 'everyone' } })
    const [alice, bob] = [await connectAs('alice'), await connectAs('bob')]
    const { taskId } = await begin(alice)
    for (const [service, who] of [
      [alice, 'alice'],
      [bob, 'bob'],
    ] as const) {
      await service.createPushConfig({ taskId, id: 'p', url: hooks[who].url }, callOf())
    }
    for (const _ of ['bob’s config', 'no config']) await bob.deletePushConfig({ taskId, id: 'p' }, callOf())
    expect((await alice.getPushConfig({ taskId, id: 'p' }, callOf())).url).toBe(hooks.alice.url)
    await alice.sendMessage({ message: messageOf('end', { taskId }) }, callOf())
    await until(() => hooks.alice.requests.some(({ body }) => /completed/i.test(body)))
    expect(hooks.bob.requests).toEqual([])
  })
})
