import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import type { AddOptions, ServePushOptions } from '../../../src/serve/options.ts'
import { collect, until } from '../../support/async.ts'
import { createRecordingLogger } from '../../support/logger.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { createWireClient } from '../../support/wire/wire-client.ts'

const outside = { address: '93.184.215.14', family: 4 }
const inside = { address: '10.0.0.7', family: 4 }

async function pushing(push: ServePushOptions) {
  const work: AgentFunction = async (turn) => {
    await turn.status('working')
    return 'done'
  }
  const { wire, server } = await startTestServer(work, {
    push: { schemes: ['https', 'http'], retry: { attempts: 2, first: 10, longest: 20 }, timeout: 500, ...push },
  })
  const { push: control } = server
  if (!control) throw new Error('it should push')
  const send = (url: string) =>
    wire.sendTask('go', {
      configuration: { taskPushNotificationConfig: { url, token: 's3cret', authentication: secret } },
    })
  return { wire, control, send }
}

const secret = { scheme: 'Bearer', credentials: 's3cret' }

it('a webhook’s host is resolved only for an authenticated caller that owns the task', async () => {
  const asked: string[] = []
  const resolve = async (host: string) => {
    asked.push(host)
    return [outside]
  }
  const keys = [{ id: 'alice', hash: await hashApiKey('alice') }]
  const { wire } = await startTestServer((turn) => turn.requireInput('Which?').then(() => undefined), {
    auth: { schemes: { key: apiKey({ keys }) } },
    push: { resolve },
  })
  const url = 'https://hooks.example.com/'
  const create = (taskId: string, headers = {}) =>
    wire.call('CreateTaskPushNotificationConfig', { taskId, url }, headers)
  expect((await create('t')).status).toBe(401)
  const configuration = { taskPushNotificationConfig: { url } }
  await expect(wire.send('go', { configuration })).rejects.toThrow(/-31401/)
  expect((await create('t', { 'x-api-key': 'alice' })).error?.code).toBe(-32001)
  expect(asked).toEqual([])
  await wire.send('go', { configuration }, { 'x-api-key': 'alice' })
  expect(asked).toContain('hooks.example.com')
})

it('a webhook is not sent when its host resolves to a private address at delivery', async () => {
  const hook = await startWebhookReceiver()
  const { port } = new URL(hook.url)
  let lookups = 0
  // A public address at registration, and a private one at every later lookup.
  const resolve = async () => [lookups++ === 0 ? outside : inside]
  const { send, control } = await pushing({ loopback: 'refuse', resolve })
  const { id: taskId } = await send(`http://moving.example.com:${port}/hook`)
  const dead = () => collect(control.deliveries({ taskId, outcome: 'dead' }))
  await until(async () => (await dead()).length > 0)
  expect((await dead())[0]?.problem).toContain('private')
  expect(hook.requests).toEqual([])
})

describe('a webhook on the machine of the agent', async () => {
  const auth = { schemes: { key: apiKey({ keys: [{ id: 'alice', hash: await hashApiKey('alice') }] }) } }
  const headers = { 'x-api-key': 'alice' }

  async function register(options: TestServerOptions, mount?: AddOptions) {
    const hook = await startWebhookReceiver()
    const { wire, server } = await startTestServer(async () => 'done', { push: {}, ...options })
    if (mount)
      server.add(
        agent({ name: 'Other' }, () => 'done'),
        { mount: '/other', log: createMemoryLog(), ...mount },
      )
    const { send } = mount ? createWireClient(`${server.url}/other`) : wire
    const configuration = { taskPushNotificationConfig: { url: hook.url } }
    const problem = await send('go', { configuration }, headers).then(
      () => undefined,
      (error: Error) => error.message,
    )
    return { hook, problem }
  }

  it.each<[string, TestServerOptions]>([
    ['listens on all addresses', { host: '0.0.0.0', auth: 'none' }],
    ['has a public URL', { publicUrl: 'https://agents.example.com' }],
    ['has a URL of its own', { publicUrl: 'http://localhost:4000' }],
    ['is behind a proxy', { trustProxy: true }],
    ['has auth', { auth }],
  ])(
    'a webhook on the machine of the agent is refused by a server that %s, whatever NODE_ENV is',
    async (_, options) => {
      onTestFinished(() => void vi.unstubAllEnvs())
      for (const mode of ['development', 'production', '']) {
        vi.stubEnv('NODE_ENV', mode)
        const { problem, hook } = await register(options)
        expect(problem, mode).toContain('whose operator can allow that by push.loopback')
        expect(hook.requests).toEqual([])
      }
      const { problem } = await register({ ...options, push: { loopback: 'allow' } })
      expect(problem).toBeUndefined()
    },
  )

  it('a webhook on the machine of the agent is called by a server that only this machine can call, whatever NODE_ENV is', async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('NODE_ENV', 'production')
    const { hook, problem } = await register({})
    expect(problem).toBeUndefined()
    await until(() => hook.requests.length > 0)
  })

  it.each(['x-forwarded-for', 'forwarded', 'x-real-ip', 'via'])(
    'a webhook on the machine of the agent is refused if the registration has the header %s, and so is its delivery',
    async (name) => {
      const { lines, logger } = createRecordingLogger()
      const hook = await startWebhookReceiver()
      // A name that resolves to this machine later.
      const addresses = [outside]
      const resolve = async () => [addresses.shift() ?? { address: '127.0.0.1', family: 4 }]
      const { wire, server } = await startTestServer(async (turn) => void (await turn.status('completed', 'Done')), {
        ...{ logger, push: { resolve, schemes: ['http', 'https'], retry: { attempts: 1 } } },
      })
      const { port } = new URL(hook.url)
      const send = (url: string) =>
        wire.send('go', { configuration: { taskPushNotificationConfig: { url } } }, { [name]: 'for=203.0.113.7' })
      for (let count = 0; count < 2; count++) await expect(send(hook.url)).rejects.toThrow('push.loopback')
      const warnings = lines.filter(({ message }) => message.startsWith('a webhook was refused'))
      expect(warnings).toMatchObject([{ level: 'warn', fields: { reason: 'loopback', option: 'push.loopback' } }])
      await send(`http://hooks.example.com:${port}/`)
      const { push: control } = server
      if (!control) throw new Error('it should push')
      const dead = () => collect(control.deliveries({ outcome: 'dead' }))
      await until(async () => (await dead()).length > 0)
      expect(hook.requests).toEqual([])
    },
  )

  it('a webhook on the machine of the agent is refused by an agent with a public URL beside one without', async () => {
    const { problem } = await register({}, { publicUrl: 'https://agents.example.com/other' })
    expect(problem).toContain('push.loopback')
    expect((await register({}, {})).problem).toBeUndefined()
  })
})

const unknownHost = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })

it('a webhook is registered while its host cannot be resolved, and gets its events once it can', async () => {
  const hook = await startWebhookReceiver()
  const { port } = new URL(hook.url)
  let isKnown = false
  const resolve = async () => {
    if (!isKnown) throw unknownHost
    return [{ address: '127.0.0.1', family: 4 }]
  }
  const { send, control } = await pushing({ resolve, retry: { attempts: 100, first: 10, longest: 20 } })
  const { id: taskId } = await send(`http://soon.example.com:${port}/hook`)
  const failing = () => collect(control.deliveries({ taskId, outcome: 'retrying' }))
  await until(async () => (await failing()).length > 0)
  expect((await failing())[0]?.problem).toContain('ENOTFOUND')
  isKnown = true
  await until(() => hook.requests.length >= 2)
})

it('a resolver that never answers does not hold up a registration', async () => {
  const { send } = await pushing({ resolve: () => new Promise(() => {}) })
  expect(await send('https://silent.example.com/hook')).toMatchObject({ id: expect.any(String) })
})

it('a host that cannot be resolved now and leads into a private network later is not called', async () => {
  const hook = await startWebhookReceiver()
  const { port } = new URL(hook.url)
  let lookups = 0
  const resolve = async () => {
    if (lookups++ === 0) throw unknownHost
    return [inside]
  }
  const { send, control } = await pushing({ resolve })
  const { id: taskId } = await send(`http://late.example.com:${port}/hook`)
  const dead = () => collect(control.deliveries({ taskId, outcome: 'dead' }))
  await until(async () => (await dead()).length > 0)
  expect((await dead())[0]?.problem).toContain('private')
  expect(hook.requests).toEqual([])
})

it('with requireResolvable, a webhook whose host cannot be resolved is rejected', async () => {
  const { send } = await pushing({ resolve: () => Promise.reject(unknownHost), requireResolvable: true })
  await expect(send('https://gone.example.com/hook')).rejects.toThrow(/-32602.*cannot be resolved/)
})

it('an allow list permits webhooks to a private network', async () => {
  const hook = await startWebhookReceiver()
  const url = hook.url.replace('127.0.0.1', 'hooks.internal')
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
  const closed = await pushing({ loopback: 'refuse', resolve })
  await expect(closed.send(url)).rejects.toThrow(/loopback/)
  const { send } = await pushing({ loopback: 'refuse', resolve, allow: ['hooks.internal', '127.0.0.0/8'] })
  await send(url)
  await until(() => hook.requests.length === 3)
})

it('a redirect is followed only if allowed, without secrets to another origin, and never to a private address', async () => {
  const target = await startWebhookReceiver()
  let location = target.url
  let status = 307
  const hook = await startWebhookReceiver((_, response) => response.writeHead(status, { location }).end())
  const none = await pushing({})
  const { id: taskId } = await none.send(hook.url)
  await until(async () => (await collect(none.control.deliveries({ taskId, outcome: 'dead' }))).length > 0)
  expect(target.requests).toEqual([])

  const one = await pushing({ redirects: 1 })
  const { id: redirected } = await one.send(hook.url)
  await until(async () => (await collect(one.control.webhooks({ taskId: redirected })))[0]?.state === 'done')
  expect(JSON.stringify(target.requests)).not.toContain('s3cret')
  const { length } = target.requests
  expect(target.requests.map(({ generation, attempt, method }) => [generation, attempt, method])).toEqual(
    Array.from({ length }, (_, index) => [index + 2, 1, 'POST']),
  )
  expect(length).toBeGreaterThan(1)

  const problemNow = async () => {
    const { id } = await one.send(hook.url)
    const dead = () => collect(one.control.deliveries({ taskId: id, outcome: 'dead' }))
    await until(async () => (await dead()).length > 0)
    return (await dead())[0]?.problem
  }
  // Browsers turn a 302 into a GET, which would lose the body, so it is not followed.
  status = 302
  expect(await problemNow()).toContain('302')
  status = 307
  location = 'http://169.254.169.254/latest/meta-data/'
  expect(await problemNow()).toMatch(/169\.254\.169\.254/)
  expect(target.requests).toHaveLength(length)
})
