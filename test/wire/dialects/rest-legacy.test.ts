import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import type { HandlerOptions } from '../../../src/core/server/options.ts'
import { silentLogger } from '../../support/logger.ts'
import { anonymousListsAll } from '../../support/servers/local-handler.ts'

/** Echoes the text as an artifact, and asks for input if the text is "ask". */
async function run(turn: Turn): Promise<void> {
  if (turn.text === 'ask' && turn.history.length === 0) return await turn.requireInput('Which one?')
  const out = turn.artifact('echo')
  await out.write(turn.text)
  await out.close()
}

type Ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) => Promise<Response>

function served(options: Partial<HandlerOptions> = {}): Ask {
  const handler = createHandler(agent({ name: 'Echo' }, run), {
    auth: anonymousListsAll,
    logger: silentLogger,
    ...options,
  })
  onTestFinished(() => handler.drain(0))
  return (method, path, body, more) => {
    const headers = new Headers(more)
    if (body !== undefined) headers.set('content-type', 'application/json')
    const text = typeof body === 'string' ? body : (JSON.stringify(body) ?? null)
    return handler.fetch(new Request(`http://in.process${path}`, { method, headers, body: text }))
  }
}

async function jsonOf(answer: Promise<Response>) {
  const response = await answer
  const { status } = response
  return { status, type: response.headers.get('content-type'), body: await response.json() }
}

async function eventsOf(answer: Promise<Response>) {
  const response = await answer
  expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

const version = (text: string) => ({ 'a2a-version': text })

/** The forms in which real clients send a message, and whether the response is in ProtoJSON. */
const styles = {
  'camel-case ProtoJSON': {
    body: (text: string) => ({ message: { messageId: 'm', role: 'ROLE_USER', content: [{ text }] } }),
    isProto: true,
  },
  'snake-case ProtoJSON': {
    body: (text: string) => ({
      request: { message_id: 'm', role: 'ROLE_USER', content: [{ text }] },
      configuration: { accepted_output_modes: ['text/plain'], blocking: true },
    }),
    isProto: true,
  },
  'snake-case ProtoJSON inside a message': {
    body: (text: string) => ({ message: { message_id: 'm', role: 1, content: [{ text }] } }),
    isProto: true,
  },
  'JSON-RPC objects': {
    body: (text: string) => ({
      message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text }] },
    }),
    isProto: false,
  },
  'JSON-RPC objects without kind, in snake case': {
    body: (text: string) => ({
      message: { message_id: 'm', role: 'user', parts: [{ kind: 'text', text }] },
      configuration: { accepted_output_modes: ['text/plain'] },
    }),
    isProto: false,
  },
}

function taskIn(isProto: boolean, state: string) {
  return isProto
    ? { status: { state: `TASK_STATE_${state.toUpperCase().replace('-', '_')}` } }
    : { kind: 'task', status: { state } }
}

describe('below /v1', () => {
  for (const [name, { body, isProto }] of Object.entries(styles)) {
    describe(`a body of ${name}`, () => {
      const outcomeOf = (task: object) => (isProto ? { task } : task)

      it('the response has the form of the request', async () => {
        const ask = served()
        const { status, type, body: sent } = await jsonOf(ask('POST', '/v1/message:send', body('hi')))
        const parts = [isProto ? { text: 'hi' } : { kind: 'text', text: 'hi' }]
        expect({ status, type }).toEqual({ status: 200, type: 'application/json' })
        expect(sent).toMatchObject(outcomeOf({ ...taskIn(isProto, 'completed'), artifacts: [{ parts }] }))
      })

      it('the stream has the form of the request, without an envelope', async () => {
        const ask = served()
        const events = await eventsOf(ask('POST', '/v1/message:stream', body('hi')))
        expect(events[0]).toMatchObject(outcomeOf(taskIn(isProto, 'submitted')))
        const kinds = events.slice(1).map((event) => (isProto ? Object.keys(event)[0] : event.kind))
        expect(new Set(kinds)).toEqual(
          new Set(isProto ? ['artifactUpdate', 'statusUpdate'] : ['artifact-update', 'status-update']),
        )
        const last = isProto ? events.at(-1).statusUpdate : events.at(-1)
        expect(last).toMatchObject({ final: true })
      })

      it('later calls without a body get the form in which their task was sent', async () => {
        const ask = served()
        const { body: sent } = await jsonOf(ask('POST', '/v1/message:send', body('ask')))
        const { id } = isProto ? sent.task : sent
        const waiting = taskIn(isProto, 'input-required')
        expect((await jsonOf(ask('GET', `/v1/tasks/${id}?historyLength=0`))).body).toMatchObject(waiting)
        expect((await jsonOf(ask('GET', `/v1/tasks/${id}?history_length=0`))).body).not.toHaveProperty('history')
        // A response arrives together with its first event.
        const streams = await Promise.all(['GET', 'POST'].map((method) => ask(method, `/v1/tasks/${id}:subscribe`)))
        const events = streams.map((stream) => eventsOf(Promise.resolve(stream)))
        const canceled = await jsonOf(ask('POST', `/v1/tasks/${id}:cancel`))
        expect(canceled.body).toMatchObject(isProto ? { status: { state: 'TASK_STATE_CANCELLED' } } : { kind: 'task' })
        for (const [first] of await Promise.all(events)) expect(first).toMatchObject(outcomeOf(waiting))
        // A subscription to an ended task has the task as its only event.
        expect(await eventsOf(ask('GET', `/v1/tasks/${id}:subscribe`))).toMatchObject([outcomeOf({ id })])
      })
    })
  }

  it('cancel accepts every body that clients send', async () => {
    const ask = served()
    for (const body of [undefined, '', 'null', {}, { name: 'tasks/x' }]) {
      const { body: sent } = await jsonOf(ask('POST', '/v1/message:send', styles['camel-case ProtoJSON'].body('ask')))
      const { status } = await ask('POST', `/v1/tasks/${sent.task.id}:cancel`, body)
      expect(status).toBe(200)
    }
  })

  it('tasks are listed in ProtoJSON', async () => {
    const ask = served()
    await ask('POST', '/v1/message:send', styles['JSON-RPC objects'].body('hi'))
    const { body } = await jsonOf(ask('GET', '/v1/tasks?pageSize=5&includeArtifacts=true'))
    expect(body).toMatchObject({ tasks: [taskIn(true, 'completed')], nextPageToken: '', pageSize: 5, totalSize: 1 })
    expect(body.tasks[0].artifacts).toMatchObject([{ parts: [{ text: 'hi' }] }])
  })

  it.each([
    ['0.3 ProtoJSON', '/v1', {}, 'camel-case ProtoJSON'],
    ['0.3 JSON', '/v1', {}, 'JSON-RPC objects'],
    ['1.0', '', version('1.0'), 'JSON-RPC objects'],
  ] as const)('query names in snake_case are read in %s', async (_, prefix, headers, style) => {
    const ask = served()
    const { body: sent } = await jsonOf(ask('POST', '/v1/message:send', styles[style].body('hi')))
    await ask('POST', '/v1/message:send', styles[style].body('ho'))
    const { id, contextId } = sent.task ?? sent
    const get = async (path: string) => (await jsonOf(ask('GET', `${prefix}${path}`, undefined, headers))).body
    expect((await get(`/tasks/${id}`)).history).toHaveLength(1)
    expect((await get(`/tasks/${id}?history_length=0`)).history ?? []).toEqual([])
    expect((await get(`/tasks?context_id=${contextId}`)).tasks).toMatchObject([{ id }])
    expect((await get('/tasks?page_size=1')).tasks).toHaveLength(1)
    expect((await get('/tasks?page_size=1&include_artifacts=true')).tasks[0].artifacts).toHaveLength(1)
    const { nextPageToken } = await get('/tasks?page_size=1')
    expect((await get(`/tasks?page_size=1&page_token=${encodeURIComponent(nextPageToken)}`)).tasks).toMatchObject([
      { id },
    ])
    const later = encodeURIComponent(new Date(Date.now() + 60_000).toISOString())
    const since = prefix === '' ? 'status_timestamp_after' : 'last_updated_after'
    expect((await get(`/tasks?${since}=${later}`)).tasks).toEqual([])
  })

  it('a page size of 0 means none in ProtoJSON', async () => {
    const ask = served()
    await ask('POST', '/v1/message:send', styles['camel-case ProtoJSON'].body('hi'))
    for (const name of ['page_size', 'pageSize']) {
      expect((await jsonOf(ask('GET', `/v1/tasks?${name}=0`))).body).toMatchObject({ tasks: [{}], pageSize: 50 })
    }
  })

  it('push configs are served under all their historical paths', async () => {
    const ask = served()
    const config = { pushNotificationConfig: { url: 'https://h.example' } }
    const calls = [
      ['GET', '/v1/tasks/x/pushNotificationConfigs'],
      ['GET', '/v1/tasks/x/pushNotifications'],
      ['GET', '/v1/tasks/x/pushNotifications/c'],
      ['DELETE', '/v1/tasks/x/pushNotificationConfigs/c'],
      ['POST', '/v1/task/x/pushNotificationConfigs', config],
      [
        'POST',
        '/v1/tasks/x/pushNotificationConfigs',
        { config: { name: 'tasks/x/pushNotificationConfigs/c', ...config } },
      ],
    ] as const
    for (const [method, path, body] of calls) {
      expect(await jsonOf(ask(method, path, body))).toMatchObject({ status: 400, body: { code: -32003 } })
    }
  })

  it('the legacy paths do not exist in 1.0', async () => {
    const ask = served()
    for (const path of ['/tasks/x/pushNotifications', '/task/x/pushNotificationConfigs', '/card']) {
      expect((await ask('GET', path, undefined, version('1.0'))).status).toBe(404)
    }
  })
})

describe('an error below /v1', () => {
  it('an error has the members that every 0.3 SDK reads', async () => {
    const ask = served()
    const { status, type, body } = await jsonOf(ask('GET', '/v1/tasks/nowhere'))
    expect({ status, type }).toEqual({ status: 404, type: 'application/json' })
    expect(body).toMatchObject({
      code: -32001,
      message: expect.stringContaining('nowhere'),
      type: 'TaskNotFoundError',
      data: [{ reason: 'TASK_NOT_FOUND' }, { locale: 'en' }],
      error: { code: 404, status: 'NOT_FOUND', message: body.message, details: [{ reason: 'TASK_NOT_FOUND' }] },
    })
  })

  it('an error names the invalid field in the form of the request', async () => {
    const ask = served()
    const problemOf = async (message: object) =>
      (await jsonOf(ask('POST', '/v1/message:send', { message }))).body.message
    expect(await problemOf({ role: 'ROLE_USER', messageId: 'm', content: [] })).toMatch(
      /^Invalid parameters: message\.content: /,
    )
    expect(await problemOf({ role: 'user', messageId: 'm', parts: [] })).toMatch(
      /^Invalid parameters: message\.parts: /,
    )
    expect(await problemOf({ role: 'user', parts: [{ kind: 'text', text: 'hi' }] })).toMatch(
      /^Invalid parameters: message\.messageId: /,
    )
  })

  it('an error before a stream starts is a plain response', async () => {
    const ask = served()
    for (const method of ['GET', 'POST']) {
      expect(await jsonOf(ask(method, '/v1/tasks/nowhere:subscribe'))).toMatchObject({
        status: 404,
        body: { type: 'TaskNotFoundError' },
      })
    }
  })
})

describe('the dialect of a REST call', () => {
  const newer = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'ask' }] } }

  it('a snake-case body with version 0.3 is 0.3 ProtoJSON', async () => {
    const { body } = await jsonOf(
      served()('POST', '/v1/message:send', styles['snake-case ProtoJSON'].body('hi'), version('0.3')),
    )
    expect(body).toMatchObject({ task: taskIn(true, 'completed') })
  })

  it('a call with version 1.0 is 1.0, also below /v1', async () => {
    const answer = await jsonOf(served()('POST', '/v1/message:send', newer, version('1.0')))
    expect(answer).toMatchObject({
      type: 'application/a2a+json',
      body: { task: { status: { message: { parts: [{}] } } } },
    })
  })

  it('a call without a version is 1.0 if only 1.0 has the path', async () => {
    expect(await jsonOf(served()('POST', '/message:send', newer))).toMatchObject({ type: 'application/a2a+json' })
  })

  it('the version may be in the query', async () => {
    const { type, body } = await jsonOf(served()('GET', '/tasks?A2A-Version=1.0'))
    expect(type).toBe('application/a2a+json')
    expect(body).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
  })

  it('a 1.0 client subscribes by GET or by POST', async () => {
    const ask = served()
    const { body } = await jsonOf(ask('POST', '/message:send', newer, version('1.0')))
    const subscribed = await Promise.all(
      ['GET', 'POST'].map((method) => ask(method, `/tasks/${body.task.id}:subscribe`, undefined, version('1.0'))),
    )
    const streams = subscribed.map((stream) => eventsOf(Promise.resolve(stream)))
    await ask('POST', `/tasks/${body.task.id}:cancel`, undefined, version('1.0'))
    for (const [first, last] of await Promise.all(streams)) {
      expect(first).toMatchObject({ task: { id: body.task.id } })
      expect(last).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_CANCELED' } } })
    }
  })

  it('a 1.0 path may start with the tenant', async () => {
    const ask = served({ tenant: 'acme' })
    const { body } = await jsonOf(ask('POST', '/acme/message:send', newer, version('1.0')))
    const { id } = body.task
    expect(await jsonOf(ask('GET', `/acme/tasks/${id}`, undefined, version('1.0')))).toMatchObject({ body: { id } })
    expect((await ask('GET', `/other/tasks/${id}`, undefined, version('1.0'))).status).not.toBe(200)
  })
})
