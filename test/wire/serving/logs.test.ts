import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import manifest from '../../../package.json' with { type: 'json' }
import { agent } from '../../../src/core/agent/agent.ts'
import { skill } from '../../../src/core/agent/skill.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { resolveAgent } from '../../../src/core/node/local-agent.node.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { apiKey, hashApiKey, newApiKey } from '../../../src/entries/auth.ts'
import { connect } from '../../../src/entries/client.ts'
import { until } from '../../support/async.ts'
import { createRecordingLogger } from '../../support/logger.ts'
import { startWebhookReceiver } from '../../support/push/webhook-receiver.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { createWireClient, sendParams } from '../../support/wire/wire-client.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'x-request-id': 'req-1' }

it('log lines of a turn and of its failure contain task, context and trace ids', async () => {
  const { lines, logger } = createRecordingLogger()
  const { server } = await startTestServer(
    async (turn) => {
      turn.log.info({ step: 1 }, 'looking')
      await turn.status('working', 'Looking')
      throw new Error('No more paper')
    },
    { logger },
  )
  const { task } = await (await connect(server.url)).send('go', { headers })
  const ids = { taskId: task?.id, contextId: task?.contextId, traceId }
  expect(lines.filter(({ fields }) => 'taskId' in fields)).toMatchObject([
    { level: 'info', message: 'looking', fields: { ...ids, step: 1 } },
    { level: 'error', message: 'the agent failed', fields: { ...ids, agent: 'Test', error: { name: 'Error' } } },
    { level: 'info', message: 'turn ended', fields: { ...ids, agent: 'Test', state: 'failed', events: 3 } },
  ])
})

it('a called agent that gives no answer is logged with the cause and what the operator can do', async () => {
  const { lines, logger } = createRecordingLogger()
  const called = await startTestServer(() => 'hi', { logger })
  const { server } = await startTestServer(async (turn) => (await turn.call(called.server.url, 'go')).text, {
    logger,
    calls: { reach: resolveAgent, loopback: 'refuse' },
  })
  const answer = await createWireClient(server.url).send('go')
  expect(answer.task?.status.state).toBe('TASK_STATE_FAILED')
  const failure = lines.find(({ message }) => message === 'the agent failed')
  expect(JSON.stringify(failure)).toContain(
    "127.0.0.1 is this machine, which is called only if it is allowed: by loopback: 'allow'",
  )
})

it('a server logs its start with address, versions, store and auth, and that it is ready, drains and stops', async () => {
  const { lines, logger } = createRecordingLogger()
  const { server } = await startTestServer(() => 'hi', { logger, grpc: true })
  const { url } = server
  expect(lines).toMatchObject([
    {
      level: 'info',
      message: 'server starting',
      fields: {
        agents: ['Test'],
        address: 'http://127.0.0.1:0',
        protocols: ['1.0', '0.3', '0.2', '0.1'],
        bindings: ['JSON-RPC', 'REST', 'gRPC'],
        store: expect.stringContaining('SQLite files in'),
        auth: 'callers without credentials',
        version: manifest.version,
      },
    },
    { level: 'info', message: 'server ready', fields: { url, duration: expect.any(Number) } },
  ])
  await server.close()
  expect(lines.slice(2)).toMatchObject([
    { level: 'info', message: 'server draining', fields: { url, reason: 'close()', deadline: 0 } },
    { level: 'info', message: 'server stopped', fields: { url, duration: expect.any(Number) } },
  ])
})

it('the end of every turn is one line, with its agent, task, state, duration and number of events', async () => {
  const { lines, logger } = createRecordingLogger()
  const { server } = await startTestServer(
    async (turn) => {
      if (turn.text === 'plain') return 'hi'
      if (turn.text === 'ask') return await turn.requireInput('Which one?')
      if (turn.text === 'slow') await new Promise(() => {})
      await turn.status('working')
      return 'done'
    },
    { logger, turns: { taskAfter: 1, deadline: 100 } },
  )
  const client = await connect(server.url)
  for (const text of ['plain', 'ask', 'task', 'slow']) await client.send(text)
  const ends = () => lines.filter(({ message }) => message === 'turn ended')
  await until(() => ends().length === 4)
  expect(ends().map(({ level, fields: { agent, state, stopped } }) => [level, agent, state, stopped])).toEqual([
    ['info', 'Test', 'answered', undefined],
    ['info', 'Test', 'input-required', undefined],
    ['info', 'Test', 'completed', undefined],
    ['info', 'Test', 'failed', 'deadline'],
  ])
  for (const { fields } of ends()) {
    expect(fields).toMatchObject({
      taskId: expect.any(String),
      duration: expect.any(Number),
      events: expect.any(Number),
    })
  }
})

describe('rejected calls', () => {
  it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)('a call that is rejected over %s is one line', async (binding) => {
    const { lines, logger } = createRecordingLogger()
    const { server } = await startTestServer(() => 'hi', { logger, grpc: true })
    const bindings = [binding === 'GRPC' ? grpc({ loopback: 'allow' }) : binding]
    const client = await connect(server.url, { bindings, retry: { tries: 1 } })
    await expect(client.task('no-such-task').get({ headers })).rejects.toThrow('no-such-task')
    expect(lines.filter(({ message }) => message === 'call rejected')).toMatchObject([
      {
        level: 'info',
        fields: {
          requestId: 'req-1',
          traceId,
          agent: 'Test',
          operation: 'getTask',
          code: 'task-not-found',
          reason: expect.stringContaining('no-such-task'),
        },
      },
    ])
  })

  it('a request for a foreign host, and one for a page without credentials, are lines with their reasons', async () => {
    const { lines, logger } = createRecordingLogger()
    const { server } = await startTestServer(() => 'hi', { logger })
    await fetch(server.cardUrl, { headers: { origin: 'https://evil.example' } })
    const schemes = { key: apiKey({ keys: [] }) }
    const closed = await startTestServer(() => 'hi', { logger, auth: { schemes }, card: { auth: true } })
    await fetch(closed.server.cardUrl)
    const rejected = lines.filter(({ message }) => message === 'call rejected')
    expect(rejected.map(({ fields }) => fields.code)).toEqual(['forbidden', 'unauthenticated'])
  })

  it('a handler logs them too, and every request at debug without its query', async () => {
    const { lines, logger } = createRecordingLogger()
    const handler = createHandler(
      agent({ name: 'Test' }, () => 'hi'),
      { auth: 'none', logger },
    )
    await handler.fetch(new Request('http://localhost/tasks/none?token=hunter2', { headers }))
    expect(lines).toMatchObject([
      { level: 'info', message: 'call rejected', fields: { code: 'task-not-found' } },
      {
        level: 'debug',
        message: 'request answered',
        fields: { requestId: 'req-1', traceId, method: 'GET', path: '/tasks/none', status: 404 },
      },
    ])
    expect(inspect(lines)).not.toContain('hunter2')
  })

  it('every request to a server is a line at debug, over gRPC too', async () => {
    const { lines, logger } = createRecordingLogger()
    const { server } = await startTestServer(() => 'hi', { logger, grpc: true })
    await (await connect(server.url, { bindings: [grpc({ loopback: 'allow' })] })).send('hi')
    await fetch(`${server.url}/no/such/path`, { method: 'DELETE' })
    const requests = lines.filter(({ message }) => message === 'request answered').map(({ fields }) => fields)
    expect(requests).toMatchObject([
      { method: 'GET', path: '/.well-known/agent-card.json', status: 200 },
      { method: 'gRPC', path: expect.stringMatching(/SendMessage$/), status: '0' },
      { method: 'DELETE', path: '/no/such/path', status: 404 },
    ])
  })
})

describe('what callers send and what an author throws', () => {
  const send = async (text: string, options: TestServerOptions) => {
    const { lines, logger } = createRecordingLogger()
    const { wire } = await startTestServer(
      (turn) => {
        if (turn.text.includes('reject')) throw new A2AError('unsupported-operation', `No such canary: ${turn.text}`)
        throw new TypeError(`A canary from ${turn.text}`, { cause: new Error('another canary') })
      },
      { logger, ...options },
    )
    await wire.call('SendMessage', sendParams(text))
    return { lines, text: inspect(lines, { depth: null }) }
  }

  it.each(['canary', 'reject a canary'])(
    '%s: the log has the place of an error, and none of its text',
    async (text) => {
      const { lines, text: logged } = await send(text, {})
      expect(logged).not.toContain('canary')
      const failures = lines.filter(({ fields }) => 'error' in fields)
      expect(failures).toHaveLength(1)
      expect(failures[0]?.fields).toMatchObject({
        error: {
          name: text === 'canary' ? 'TypeError' : 'A2AError',
          stack: expect.stringMatching(/logs\.test\.ts:\d+/),
        },
        hint: expect.stringContaining('turns.errorMessages'),
      })
    },
  )

  it('the log has the text of an error if the operator asks for it', async () => {
    const { text: logged } = await send('canary', { turns: { errorMessages: true } })
    expect(logged).toMatch(/TypeError: A canary from canary/)
    expect(logged).toMatch(/another canary/)
  })

  it('the log has the fields of a wrong skill output, and not the output', async () => {
    const { lines, logger } = createRecordingLogger()
    const output = z.object({
      name: z.string().refine((name) => name === 'x', { error: (issue) => `not ${issue.input}` }),
    })
    const skills = [skill({ id: 'lookup', name: 'Look up', output, run: () => ({ name: 'canary' }) })]
    const { wire } = await startTestServer(undefined, { logger, profile: { name: 'Test', skills } })
    await wire.call('SendMessage', sendParams('go'))
    expect(inspect(lines, { depth: null })).not.toContain('canary')
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'a skill gave what does not fit its schema', fields: { skill: 'lookup', fields: ['name'] } },
      { message: 'the agent failed', fields: { error: { code: 'invalid-agent-response' } } },
    ])
  })
})

it('log lines of failed and rejected requests contain valid request and trace ids', async () => {
  const { lines, logger } = createRecordingLogger()
  const log = createMemoryLog()
  const broken = { ...log, head: () => Promise.reject(new Error('The disk is gone')) }
  const key = newApiKey()
  const schemes = { key: apiKey({ keys: [{ id: 'me', scopes: [], hash: await hashApiKey(key) }] }) }
  const { wire } = await startTestServer(() => 'hi', { logger, log: broken, auth: { schemes } })
  const getTask = (more: Record<string, string>) => wire.call('GetTask', { id: 'x' }, { ...headers, ...more })
  await getTask({ 'x-api-key': key })
  await getTask({ 'x-api-key': 'wrong' })
  await getTask({ 'x-api-key': key, 'x-request-id': 'forged "line" with spaces', traceparent: 'nonsense' })
  const failures = lines.filter(({ message }) => message === 'a request failed unexpectedly')
  expect(failures.map(({ fields: { requestId, traceId: trace } }) => [requestId, trace])).toEqual([
    ['req-1', traceId],
    [undefined, undefined],
  ])
  const rejected = lines.filter(({ message }) => message === 'credentials were refused')
  expect(rejected).toMatchObject([{ fields: { requestId: 'req-1', traceId, scheme: 'key' } }])
})

it('the log line of a paused webhook contains its task and no secret', async () => {
  const { lines, logger } = createRecordingLogger()
  const hook = await startWebhookReceiver((_, response) => response.writeHead(500).end())
  const push = { loopback: 'allow', schemes: ['http'], retry: { attempts: 1 }, pauseAfter: 1 } as const
  const { server } = await startTestServer((turn) => turn.status('completed', 'Done'), { logger, push })
  const config = { url: hook.url, token: 'hunter2', authentication: { scheme: 'Bearer', credentials: 'hunter3' } }
  const { task } = await (await connect(server.url)).send('go', { headers, push: config })
  const paused = () => lines.find(({ message }) => message.startsWith('paused a webhook'))
  await until(() => paused() !== undefined)
  expect(lines.find(({ message }) => message.startsWith('a webhook request failed'))).toMatchObject({
    level: 'warn',
    fields: { taskId: task?.id, host: new URL(hook.url).host, status: 500, problem: 'answered with 500' },
  })
  expect(paused()?.fields).toMatchObject({ taskId: task?.id, contextId: task?.contextId, traceId })
  expect(JSON.stringify(lines)).not.toMatch(/hunter/)
})
