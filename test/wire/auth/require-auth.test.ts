import { expect, it, onTestFinished } from 'vitest'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import { lineageExtension } from '../../../src/core/protocol/extensions/lineage.ts'
import type { Task } from '../../../src/core/protocol/model.ts'
import { apiKey, hashApiKey, newApiKey } from '../../../src/entries/auth.ts'
import { connect, credentialsPart, data } from '../../../src/entries/client.ts'
import { apiKeyCredentials } from '../../../src/entries/client-auth.ts'
import { agent } from '../../../src/entries/index.ts'
import { callOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../support/async.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../support/processes/simulated-processes.ts'
import { createLocalHandler } from '../../support/servers/local-handler.ts'

const secret = 'ghp-0123456789abcdef'

const requiresGithub: AgentFunction = async (turn) => {
  const {
    scheme,
    by,
    secret: reveal,
  } = await turn.requireAuth({
    scheme: 'github',
    scopes: ['repo'],
    url: 'https://github.com/login',
  })
  return `${scheme} by ${by}, ${reveal().length} characters`
}

it('a task pauses with the required scheme and continues with credentials from a message', async () => {
  const client = await connect(createLocalHandler(requiresGithub))
  const conversation = client.conversation()
  const paused = await conversation.send('push it')
  expect(paused.task?.status.state).toBe('auth-required')
  expect(paused).toMatchObject({ authRequired: { schemes: ['github'], urls: ['https://github.com/login'] } })
  const done = await conversation.send(credentialsPart({ scheme: 'GitHub', credentials: secret }))
  expect([done.task?.status.state, done.text]).toEqual(['completed', 'github by message, 20 characters'])
  const history = done.task?.history ?? []
  expect(JSON.stringify(done.task)).not.toContain(secret)
  expect(history.at(-1)?.parts).toMatchObject([{ data: { scheme: 'GitHub', redacted: true } }])
})

it.each([
  ['metadata', { metadata: { 'https://parley.dev/ext/credentials/v1': { scheme: 'github', credentials: secret } } }],
  ['AuthenticationInfo, as legacy callers send it', { part: data({ schemes: ['github'], credentials: secret }) }],
])(
  'credentials in the form of %s are accepted and not stored',
  async (_, { metadata, part }: { metadata?: object; part?: object }) => {
    const { service } = createLocalHandler(requiresGithub)
    const { id: taskId } = taskOf(await send(service, 'push it'))
    const parts = part ? [part] : [{ text: 'here' }]
    const message = { messageId: 'm', role: 'user', taskId, parts, ...(metadata && { metadata }) }
    const request = { message } as Parameters<typeof service.sendMessage>[0]
    const task = taskOf(await service.sendMessage(request, callOf()))
    expect(statusTextOf(task)).toBe('github by message, 20 characters')
    expect(JSON.stringify(task)).not.toContain(secret)
  },
)

it('the stream of the credentials begins with a task that no longer requires them', async () => {
  const isDone = deferred()
  const client = await connect(
    createLocalHandler(async (turn) => {
      await turn.requireAuth({ scheme: 'github' })
      await isDone.promise
    }),
  )
  const { task } = await client.send('push it')
  const taskId = task?.id ?? ''
  const events = client.stream(credentialsPart({ scheme: 'github', credentials: secret }), { taskId })
  expect((await events.next()).value).toMatchObject({ type: 'task', task: { status: { state: 'working' } } })
  expect((await client.task(taskId).get()).status.state).toBe('working')
  isDone.resolve()
  await collect(events)
})

it('a message without credentials is answered with how to send them', async () => {
  const { service } = createLocalHandler(requiresGithub)
  const { id: taskId } = taskOf(await send(service, 'push it'))
  const paused = taskOf(await send(service, 'which ones?', { taskId }))
  expect(paused.status.state).toBe('auth-required')
  expect(statusTextOf(paused)).toContain('The last message brought none. Send them in a data part of the type')
})

it('a task continues when a request has the required scopes', async () => {
  const [readKey, publishKey] = [newApiKey(), newApiKey()]
  const keys = [
    { id: 'alice', scopes: ['read'], hash: await hashApiKey(readKey) },
    { id: 'alice', scopes: ['read', 'publish'], hash: await hashApiKey(publishKey) },
  ]
  const handler = createLocalHandler(
    async (turn) => {
      const { by, principal } = await turn.requireAuth({ scheme: 'key', scopes: ['publish'] })
      return `by ${by} of ${principal.id}`
    },
    { auth: { schemes: { key: apiKey({ keys }) } } },
  )
  const before = await connect(handler, { auth: [apiKeyCredentials(readKey)] })
  const paused = await before.send('publish')
  expect(paused.task?.status.state).toBe('auth-required')
  const taskId = paused.task?.id ?? ''
  const after = await connect(handler, { auth: [apiKeyCredentials(publishKey)] })
  expect((await after.send('now', { taskId })).text).toBe('by request of alice')
  expect((await after.send('publish')).text).toBe('by request of alice')
})

it('a task continues in its open stream when credentials arrive out of band', async () => {
  const arrived = deferred<string>()
  const client = await connect(
    createLocalHandler(async (turn) => {
      const credentials = await turn.requireAuth('github', { outOfBand: () => arrived.promise })
      return `${credentials.by}, ${credentials.secret().length} characters`
    }),
  )
  const states: string[] = []
  for await (const event of client.stream('go')) {
    const state = event.type === 'task' ? event.task.status.state : event.type === 'status' ? event.status.state : ''
    states.push(state)
    if (state === 'auth-required') arrived.resolve(secret)
    if (event.type === 'status' && state === 'completed') {
      expect(event.status.message?.parts).toEqual([{ text: 'out-of-band, 20 characters' }])
    }
  }
  expect(states).toEqual(['submitted', 'auth-required', 'working', 'completed'])
})

it('a task waits across a restart, and credentials do not survive one', async () => {
  const { start, ended, log } = simulateProcesses({ leaseTtl: 300 })
  const used: string[] = []
  const reached = deferred()
  const code =
    (after: () => unknown): AgentFunction =>
    async (turn) => {
      const credentials = await turn.requireAuth('github')
      await turn.step('use', () => void used.push(credentials.secret()))
      await turn.step('then', after)
      return `${credentials.secret().length} characters`
    }
  const first = start(code(() => 1))
  const { id: taskId } = taskOf(await send(first.service, 'go'))
  first.kill()
  const second = start(
    code(() => {
      reached.resolve()
      return new Promise(() => {})
    }),
  )
  const part = credentialsPart({ scheme: 'github', credentials: secret })
  const message = { messageId: 'm', role: 'user', taskId, parts: [part] } as const
  void second.service.sendMessage({ message }, callOf()).catch(() => {})
  await reached.promise
  second.kill()
  start(code(() => 1))
  const task = await ended(taskId)
  // The completed step is not repeated, and the task fails because the credentials are gone.
  expect(used).toEqual([secret])
  expect(task.status.state).toBe('failed')
  expect(statusTextOf(task)).toContain('were given to a process that is gone, and are never stored')
  expect(JSON.stringify(await log.read(taskId, 0))).not.toContain(secret)
})

it('a secret is stored nowhere, whatever the agent does with it', async () => {
  const { service } = createLocalHandler(async (turn) => {
    const credentials = await turn.requireAuth('github')
    await turn.status('working', `Using ${credentials.secret()}`)
    await turn.data({ key: credentials.secret() })
    await turn.step('keep', () => credentials.secret()).catch((error) => turn.status('working', error.message))
    return `It was ${credentials.secret()}`
  })
  const { id: taskId } = taskOf(await send(service, 'go'))
  const part = credentialsPart({ credentials: secret })
  const message = { messageId: 'm', role: 'user', taskId, parts: [part] } as const
  const task = taskOf(await service.sendMessage({ message }, callOf()))
  expect(statusTextOf(task)).toBe('It was [redacted]')
  const text = JSON.stringify(task)
  expect(text).not.toContain(secret)
  expect(text).toContain('has a secret in it, and would be stored')
})

it('a requirement passes up through several agents, and the credentials pass down', async () => {
  const used: string[] = []
  const bottom = agent({ name: 'Bottom' }, async (turn) => {
    const credentials = await turn.requireAuth('github')
    used.push(credentials.secret())
    return 'Pushed'
  })
  const middle = agent({ name: 'Middle' }, async (turn) => (await turn.call(bottom, 'push')).text)
  const top = agent({ name: 'Top' }, async (turn) => (await turn.call(middle, 'push')).text)
  const client = await connect(top)
  const conversation = client.conversation()
  const paused = await conversation.send('push it')
  expect(paused.task?.status.state).toBe('auth-required')
  expect(paused).toMatchObject({ authRequired: { schemes: ['github'] } })
  expect(paused.task?.status.message?.metadata?.[lineageExtension]).toMatchObject({
    children: [{ agent: 'Middle', children: [{ agent: 'Bottom' }] }],
  })
  const events = await collect(conversation.stream(credentialsPart({ scheme: 'github', credentials: secret })))
  expect(events.at(-1)).toMatchObject({ status: { state: 'completed', message: { parts: [{ text: 'Pushed' }] } } })
  expect(used).toEqual([secret])
  for (const target of [top, middle, bottom]) {
    const tasks: Task[] = await collect((await connect(target)).listTasks({ includeArtifacts: true }))
    expect(tasks).toHaveLength(1)
    expect(JSON.stringify(tasks)).not.toContain(secret)
  }
})

it('a call continues when the called agent gets credentials out of band', async () => {
  const arrived = deferred<string>()
  const bottom = agent({ name: 'Bottom' }, async (turn) => {
    await turn.requireAuth('github', { outOfBand: () => arrived.promise })
    return 'Pushed'
  })
  const { service } = createLocalHandler(async (turn) => (await turn.call(await connect(bottom), 'push')).text)
  const paused = taskOf(await send(service, 'go'))
  expect(paused.status.state).toBe('auth-required')
  arrived.resolve(secret)
  const state = async () => (await service.getTask({ taskId: paused.id }, callOf())).status.state
  await until(async () => (await state()) === 'completed')
})

it('a resumed durable turn passes credentials down', async () => {
  const { start, ended } = simulateProcesses({ leaseTtl: 300 })
  const bottom = await connect(
    agent({ name: 'Bottom' }, async (turn) => {
      const credentials = await turn.requireAuth('github')
      return `Pushed with ${credentials.secret().length} characters`
    }),
  )
  const code: AgentFunction = async (turn) => (await turn.call(bottom, 'push')).text
  const first = start(code)
  const taskId = await startTask(first)
  const isPaused = async () => (await first.service.getTask({ taskId }, callOf())).status.state === 'auth-required'
  await until(isPaused)
  first.kill()
  const second = start(code)
  const part = credentialsPart({ scheme: 'github', credentials: secret })
  const message = { messageId: 'm', role: 'user', taskId, parts: [part] } as const
  // The process that runs the task takes the message. After a kill, the next process does.
  await second.service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
  const task = await ended(taskId)
  expect(statusTextOf(task)).toBe('Pushed with 20 characters')
  onTestFinished(second.kill)
})

it('waiting for credentials may exceed the inactivity timeout', async () => {
  const arrived = deferred<string>()
  const { service } = createLocalHandler(
    async (turn) => (await turn.requireAuth('github', { outOfBand: () => arrived.promise })).by,
    { turns: { inactivityTimeout: 30 } },
  )
  const { id: taskId } = taskOf(await send(service, 'go'))
  const end = Date.now() + 100
  await until(() => Date.now() > end)
  arrived.resolve(secret)
  await until(async () => (await service.getTask({ taskId }, callOf())).status.state !== 'auth-required')
  await until(async () => (await service.getTask({ taskId }, callOf())).status.state === 'completed')
})

it('a task fails when credentials do not arrive in time', async () => {
  const { service } = createLocalHandler(
    async (turn) => (await turn.requireAuth('github', { expiresAt: Date.now() + 50 })).by,
  )
  const { id: taskId } = taskOf(await send(service, 'go'))
  await until(async () => (await service.getTask({ taskId }, callOf())).status.state === 'failed')
})
