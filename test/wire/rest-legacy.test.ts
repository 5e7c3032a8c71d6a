import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/agent/agent.ts'
import type { Turn } from '../../src/agent/turn.ts'
import { createHandler } from '../../src/server/handler.ts'
import type { HandlerOptions } from '../../src/server/options.ts'
import { silentLogger } from '../support/logger.ts'
import { anonymousListsAll } from '../support/servers/local-handler.ts'

/** Says it back, as an artifact; asked a question, it asks back. */
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

/** The bodies in which the same words are sent in the wild, and the answers that they get. */
const styles = {
  'camel case of the proto': {
    body: (text: string) => ({ message: { messageId: 'm', role: 'ROLE_USER', content: [{ text }] } }),
    isProto: true,
  },
  'snake case of the proto': {
    body: (text: string) => ({
      request: { message_id: 'm', role: 'ROLE_USER', content: [{ text }] },
      configuration: { accepted_output_modes: ['text/plain'], blocking: true },
    }),
    isProto: true,
  },
  'snake case of the proto in a message': {
    body: (text: string) => ({ message: { message_id: 'm', role: 1, content: [{ text }] } }),
    isProto: true,
  },
  'objects of JSON-RPC': {
    body: (text: string) => ({
      message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text }] },
    }),
    isProto: false,
  },
  'objects of JSON-RPC without their kind, in snake case': {
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
    describe(`a body in the ${name}`, () => {
      const outcomeOf = (task: object) => (isProto ? { task } : task)

      it('is answered in its own style', async () => {
        const ask = served()
        const { status, type, body: sent } = await jsonOf(ask('POST', '/v1/message:send', body('hi')))
        const parts = [isProto ? { text: 'hi' } : { kind: 'text', text: 'hi' }]
        expect({ status, type }).toEqual({ status: 200, type: 'application/json' })
        expect(sent).toMatchObject(outcomeOf({ ...taskIn(isProto, 'completed'), artifacts: [{ parts }] }))
      })

      it('is streamed in its own style, without an envelope', async () => {
        const ask = served()
        const events = await eventsOf(ask('POST', '/v1/message:stream', body('hi')))
        expect(events[0]).toMatchObject(outcomeOf(taskIn(isProto, 'working')))
        const kinds = events.slice(1).map((event) => (isProto ? Object.keys(event)[0] : event.kind))
        expect(new Set(kinds)).toEqual(
          new Set(isProto ? ['artifactUpdate', 'statusUpdate'] : ['artifact-update', 'status-update']),
        )
        const last = isProto ? events.at(-1).statusUpdate : events.at(-1)
        expect(last).toMatchObject({ final: true })
      })

      it('sets the style of later calls about its task, which have no body', async () => {
        const ask = served()
        const { body: sent } = await jsonOf(ask('POST', '/v1/message:send', body('ask')))
        const { id } = isProto ? sent.task : sent
        const waiting = taskIn(isProto, 'input-required')
        expect((await jsonOf(ask('GET', `/v1/tasks/${id}?historyLength=0`))).body).toMatchObject(waiting)
        expect((await jsonOf(ask('GET', `/v1/tasks/${id}?history_length=0`))).body).not.toHaveProperty('history')
        // An answer is there when its first event is.
        const streams = await Promise.all(['GET', 'POST'].map((method) => ask(method, `/v1/tasks/${id}:subscribe`)))
        const events = streams.map((stream) => eventsOf(Promise.resolve(stream)))
        const canceled = await jsonOf(ask('POST', `/v1/tasks/${id}:cancel`))
        expect(canceled.body).toMatchObject(isProto ? { status: { state: 'TASK_STATE_CANCELLED' } } : { kind: 'task' })
        for (const told of await Promise.all(events)) expect(told[0]).toMatchObject(outcomeOf(waiting))
        // A task that has ended is told once more.
        expect(await eventsOf(ask('GET', `/v1/tasks/${id}:subscribe`))).toMatchObject([outcomeOf({ id })])
      })
    })
  }

  it('every body that clients send to cancel will do', async () => {
    const ask = served()
    for (const body of [undefined, '', 'null', {}, { name: 'tasks/x' }]) {
      const { body: sent } = await jsonOf(
        ask('POST', '/v1/message:send', styles['camel case of the proto'].body('ask')),
      )
      const { status } = await ask('POST', `/v1/tasks/${sent.task.id}:cancel`, body)
      expect(status).toBe(200)
    }
  })

  it('tasks are listed in the form of the proto', async () => {
    const ask = served()
    await ask('POST', '/v1/message:send', styles['objects of JSON-RPC'].body('hi'))
    const { body } = await jsonOf(ask('GET', '/v1/tasks?pageSize=5&includeArtifacts=true'))
    expect(body).toMatchObject({ tasks: [taskIn(true, 'completed')], nextPageToken: '', pageSize: 5, totalSize: 1 })
    expect(body.tasks[0].artifacts).toMatchObject([{ parts: [{ text: 'hi' }] }])
  })

  it('push configs are found under every name that they ever had', async () => {
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

  it('a path without the singular and the older names is none of 1.0', async () => {
    const ask = served()
    for (const path of ['/tasks/x/pushNotifications', '/task/x/pushNotificationConfigs', '/card']) {
      expect((await ask('GET', path, undefined, version('1.0'))).status).toBe(404)
    }
  })
})

describe('an error below /v1', () => {
  it('is in the form of every SDK of 0.3 at once', async () => {
    const ask = served()
    const { status, type, body } = await jsonOf(ask('GET', '/v1/tasks/nowhere'))
    expect({ status, type }).toEqual({ status: 404, type: 'application/json' })
    expect(body).toMatchObject({
      code: -32001,
      message: expect.stringContaining('nowhere'),
      type: 'TaskNotFoundError',
      data: { details: [{ reason: 'TASK_NOT_FOUND' }] },
      error: { code: 404, status: 'NOT_FOUND', message: body.message, details: [{ reason: 'TASK_NOT_FOUND' }] },
    })
  })

  it('names the field that is wrong, in either style', async () => {
    const ask = served()
    const problemOf = async (message: object) =>
      (await jsonOf(ask('POST', '/v1/message:send', { message }))).body.message
    expect(await problemOf({ role: 'ROLE_USER', messageId: 'm', content: [] })).toMatch(/^message\.content: /)
    expect(await problemOf({ role: 'user', messageId: 'm', parts: [] })).toMatch(/^message\.parts: /)
    expect(await problemOf({ role: 'user', parts: [{ kind: 'text', text: 'hi' }] })).toMatch(/^message\.messageId: /)
  })

  it('before a stream is no stream', async () => {
    const ask = served()
    for (const method of ['GET', 'POST']) {
      expect(await jsonOf(ask(method, '/v1/tasks/nowhere:subscribe'))).toMatchObject({
        status: 404,
        body: { type: 'TaskNotFoundError' },
      })
    }
  })
})

describe('the dialect of a call over REST', () => {
  const newer = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'ask' }] } }

  it('is 0.3 in the proto for its snake case and its version', async () => {
    const { body } = await jsonOf(
      served()('POST', '/v1/message:send', styles['snake case of the proto'].body('hi'), version('0.3')),
    )
    expect(body).toMatchObject({ task: taskIn(true, 'completed') })
  })

  it('is 1.0 for its version, also below /v1', async () => {
    const answer = await jsonOf(served()('POST', '/v1/message:send', newer, version('1.0')))
    expect(answer).toMatchObject({
      type: 'application/a2a+json',
      body: { task: { status: { message: { parts: [{}] } } } },
    })
  })

  it('is 1.0 without a version, where only 1.0 has the path', async () => {
    expect(await jsonOf(served()('POST', '/message:send', newer))).toMatchObject({ type: 'application/a2a+json' })
  })

  it('is 1.0 for a version in the query', async () => {
    const { type, body } = await jsonOf(served()('GET', '/tasks?A2A-Version=1.0'))
    expect(type).toBe('application/a2a+json')
    expect(body).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
  })

  it('lets 1.0 subscribe by GET and by POST', async () => {
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

  it('has the tenant in the path of 1.0', async () => {
    const ask = served({ tenant: 'acme' })
    const { body } = await jsonOf(ask('POST', '/acme/message:send', newer, version('1.0')))
    const { id } = body.task
    expect(await jsonOf(ask('GET', `/acme/tasks/${id}`, undefined, version('1.0')))).toMatchObject({ body: { id } })
    expect((await ask('GET', `/other/tasks/${id}`, undefined, version('1.0'))).status).not.toBe(200)
  })
})
