import { throwError } from 'rxjs'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { ServerDialect } from '../../../src/core/dialects/dialect.ts'
import { v0_3 } from '../../../src/core/dialects/v0.3/server.ts'
import { createHouseDialect, v0_3House } from '../../../src/core/dialects/v0.3-house/server.ts'
import { v0_3Proto } from '../../../src/core/dialects/v0.3-proto/server.ts'
import type { Exchange } from '../../../src/core/http/exchange.ts'
import { toFetch } from '../../../src/core/http/fetch.ts'
import { A2AError } from '../../../src/core/protocol/errors.ts'
import { toolResult, toolUse } from '../../../src/core/protocol/extensions/client-tools.ts'
import { anonymous } from '../../../src/core/protocol/model.ts'
import { createJsonRpc } from '../../../src/core/transports/jsonrpc/server.ts'
import { createRest } from '../../../src/core/transports/rest/server.ts'
import { createTestRuntime } from '../../support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../support/async.ts'
import { startTestServer } from '../../support/servers/test-server.ts'
import { jsonRpc } from '../../support/wire/json-rpc.ts'

/** Asks the caller to run a search tool, and returns its result as an artifact. */
async function search(turn: Turn): Promise<void> {
  const results = turn.message.parts.find(({ mediaType }) => mediaType === toolResult)
  if (results && 'data' in results) return await turn.data(results.data, 'found')
  const data = { toolUseId: 'u-1', name: 'search', arguments: { query: turn.text } }
  await turn.requireInput([{ text: 'Please search.' }, { data, mediaType: toolUse }])
}

/** JSON-RPC at /api/a2a and REST below /v1, the paths of the house dialect. */
function createPost(house: ServerDialect = v0_3House) {
  const { service, lastDialect, drain } = createTestRuntime(search)
  onTestFinished(() => drain(0))
  const wire = { service, lastDialect, authenticate: () => anonymous, onError: console.error }
  const answerRpc = createJsonRpc({ ...wire, dialects: [house, v0_3] })
  const answerRest = createRest({ ...wire, dialects: [v0_3, house, v0_3Proto] })
  const exchange: Exchange = async (incoming) => {
    if (incoming.path === '/api/a2a') return await answerRpc(incoming)
    return (await answerRest(incoming)) ?? { status: 404, headers: {} }
  }
  const fetch = toFetch(exchange)
  return (path: string, body: object, accept = 'application/json') => {
    const headers = { 'content-type': 'application/json', accept }
    return fetch(new Request(`http://in.process${path}`, { method: 'POST', headers, body: JSON.stringify(body) }))
  }
}

const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 0, method, params })

function messageOf(parts: readonly object[], more: object = {}) {
  return { message: { kind: 'message', role: 'user', messageId: crypto.randomUUID(), parts, ...more } }
}

async function jsonOf(pending: Promise<Response>) {
  const response = await pending
  return { status: response.status, body: await response.json() }
}

async function eventsOf(pending: Promise<Response>) {
  const lines = (await (await pending).text()).split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

const searchMessage = messageOf([{ kind: 'text', text: 'cats' }])
const result = { kind: 'tool-result', toolUseId: 'u-1', result: ['Tom'] }

describe('the house dialect over JSON-RPC', () => {
  it('a caller runs a tool and returns its result by task reference', async () => {
    const post = createPost(createHouseDialect({ holdStreamOnInput: false }))
    const events = await eventsOf(post('/api/a2a', call('message/stream', searchMessage), 'text/event-stream'))
    const { id } = events[0].result
    expect(events[1].result.status.message.parts[1]).toEqual({
      kind: 'tool-use',
      toolUseId: 'u-1',
      name: 'search',
      arguments: { query: 'cats' },
    })
    const answer = messageOf([result], { referenceTaskIds: [id] })
    const { body } = await jsonOf(post('/api/a2a', call('message/send', answer)))
    expect(body.result).toMatchObject({ id, status: { state: 'completed' } })
    expect(body.result.artifacts[0].parts).toMatchObject([{ data: { toolUseId: 'u-1', result: ['Tom'] } }])
    expect(body.result.history.at(-1).parts).toEqual([result])
  })

  it('tasks/get with a taskId streams the task, or returns it if the caller accepts no stream', async () => {
    const post = createPost()
    const { body } = await jsonOf(post('/api/a2a', call('message/send', searchMessage)))
    const { id } = body.result
    const streamed = eventsOf(post('/api/a2a', call('tasks/get', { taskId: id }), 'text/event-stream'))
    for (const params of [{ taskId: id }, { id }]) {
      expect((await jsonOf(post('/api/a2a', call('tasks/get', params)))).body.result).toMatchObject({
        kind: 'task',
        id,
      })
    }
    await post('/api/a2a', call('tasks/cancel', { id }))
    const updates = (await streamed).map((event) => event.result)
    expect(updates).toMatchObject([
      { kind: 'status-update', taskId: id, status: { state: 'input-required' }, final: false },
      { kind: 'status-update', taskId: id, status: { state: 'canceled' }, final: true },
    ])
  })
})

describe('the house dialect over REST', () => {
  it('tool parts select the house dialect, and responses have no envelope', async () => {
    const post = createPost()
    const { body: task } = await jsonOf(post('/v1/message:send', searchMessage))
    expect(task).toMatchObject({ kind: 'task', status: { state: 'input-required' } })
    const answer = messageOf([result], { referenceTaskIds: [task.id] })
    const { body } = await jsonOf(post('/v1/message:send', answer))
    expect(body).toMatchObject({ kind: 'task', id: task.id, status: { state: 'completed' } })
    expect(body.history.at(-1).parts).toEqual([result])
  })

  it('every REST error is a 500, unless house codes are switched off', async () => {
    const post = createPost()
    const unknownTask = messageOf([result], { taskId: 'nowhere' })
    expect(await jsonOf(post('/v1/message:send', unknownTask))).toMatchObject({
      status: 500,
      body: { error: { code: 500, message: 'Task not found', data: { reason: 'TASK_NOT_FOUND' } } },
    })
    const { body } = await jsonOf(post('/api/a2a', call('message/send', unknownTask)))
    expect(body.error).toMatchObject({ code: -32004, message: 'Task not found' })
  })
})

describe('options of the house dialect', () => {
  it('an agent at the path of the house speaks the house dialect there, and its card names the path', async () => {
    const { server } = await startTestServer(search, { path: '/api/a2a' })
    const card = await (await fetch(`${server.url}/.well-known/agent-card.json`)).json()
    expect(card.url).toBe(`${server.url}/api/a2a`)
    const { result: task } = await jsonRpc(card.url).call('message/send', searchMessage)
    const subscription = jsonRpc(card.url).stream('tasks/get', { taskId: task.id })
    const { value: first } = await subscription.next()
    await subscription.return(undefined)
    expect(first?.result).toMatchObject({ kind: 'status-update', status: { state: 'input-required' } })
  })

  it('a stream stays open while its task waits for input', async () => {
    const { server } = await startTestServer(search)
    const rpc = jsonRpc(`${server.url}/api/a2a`)
    const events = rpc.stream('message/stream', searchMessage)
    const first = (await events.next()).value?.result
    expect(first).toMatchObject({ kind: 'task', status: { state: 'submitted' } })
    expect((await events.next()).value?.result).toMatchObject({ status: { state: 'input-required' }, final: false })
    const answer = messageOf([result], { referenceTaskIds: [first.id] })
    const answered = await collect(rpc.stream('message/stream', answer))
    const rest = await collect(events)
    expect(rest.map((event) => [event.result.status?.state, event.result.final])).toEqual([
      ['working', false],
      [undefined, undefined],
      ['completed', true],
    ])
    expect(answered.at(-1)?.result).toEqual(rest.at(-1)?.result)
  })

  it('an answer that does not come in time ends the stream with an error', async () => {
    const askBriefly = async (turn: Turn) => (await turn.ask('Which one?', { timeout: 100 })).text
    const { server } = await startTestServer(askBriefly)
    const events = await collect(jsonRpc(`${server.url}/api/a2a`).stream('message/stream', searchMessage))
    expect(events[1]?.result.status.message.inputRequest).toMatchObject({ prompt: 'Which one?', sensitive: false })
    expect(events.filter(({ result }) => result?.final)).toEqual([])
    const { id: taskId } = events[0]?.result ?? {}
    const data = { reason: 'INPUT_TIMEOUT', taskId, timeoutSeconds: 0.1 }
    expect(events.at(-1)?.error).toMatchObject({ code: -32001, message: 'Input timeout', data })
  })

  it('holdStreamOnInput: false ends a stream at input-required', async () => {
    const { server } = await startTestServer(search, { dialects: { house: { holdStreamOnInput: false } } })
    const events = await collect(jsonRpc(`${server.url}/api/a2a`).stream('message/stream', searchMessage))
    expect(events.at(-1)?.result.status.state).toBe('input-required')
  })

  it('turn.ask resolves with the value of an answer in house form, and a waiting turn does not delay close', async () => {
    const asks = async (turn: Turn) => {
      const { text, value } = await turn.ask('Enter API key:')
      return JSON.stringify({ text, value })
    }
    const options = { drainDeadline: 2 ** 30, dialects: { house: { holdStreamOnInput: false } } }
    const { server } = await startTestServer(asks, options)
    const rpc = jsonRpc(`${server.url}/api/a2a`)
    const asked = (await collect(rpc.stream('message/stream', searchMessage))).at(-1)?.result
    const { requestId: toolUseId } = asked.status.message.inputRequest
    const answer = { kind: 'tool-result', toolUseId, result: { value: 'key-123' } }
    const parts = [{ kind: 'text', text: 'Here is the requested input:' }, answer]
    const events = await collect(rpc.stream('message/stream', messageOf(parts, { referenceTaskIds: [asked.taskId] })))
    const reply = events.at(-1)?.result.status.message
    expect(JSON.parse(reply.parts[0].text)).toEqual({ text: 'key-123', value: 'key-123' })
    await collect(rpc.stream('message/stream', searchMessage))
    await server.close()
  })

  /** The events of a stream, or the only response. */
  async function answersTo(url: string, body: unknown) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
    const response = await fetch(url, { method: 'POST', headers, body: text })
    const answered = await response.text()
    const events = [...answered.matchAll(/^data: (.*)$/gm)].map(([, data]) => data ?? '')
    const answers = events.length > 0 ? events : [answered]
    return answers.map((answer) => ({ status: response.status, ...JSON.parse(answer) }))
  }

  it('requests that are not JSON-RPC get the status 400, and errors say what they are about', async () => {
    const { server } = await startTestServer(search)
    const answer = async (body: unknown) => (await answersTo(`${server.url}/api/a2a`, body)).at(-1)
    const { method, params } = call('message/stream', searchMessage)
    const malformed = [
      { id: 7, method, params },
      { jsonrpc: '2.0', id: 7 },
      { jsonrpc: '2.0', id: 7, method: 5 },
    ]
    for (const body of malformed) {
      const error = { code: -32600, message: 'Invalid Request', data: { reason: 'Must be valid JSON-RPC 2.0' } }
      expect(await answer(body)).toMatchObject({ status: 400, id: 7, error })
    }
    expect(await answer({ jsonrpc: '2.0', method, params })).toMatchObject({ status: 400, id: null })
    expect(await answer('{')).toMatchObject({ status: 400, error: { code: -32700 } })
    expect(await answer(call('tasks/do', {}))).toMatchObject({
      status: 200,
      error: { code: -32601, data: { method: 'tasks/do' } },
    })
    const wrongKind = { message: { ...searchMessage.message, kind: 'x' } }
    expect(await answer(call('message/stream', wrongKind))).toMatchObject({
      status: 200,
      error: { code: -32602, data: { field: 'message', reason: expect.stringContaining('kind') } },
    })
    expect(await answer(call('tasks/get', { taskId: 'task-999' }))).toMatchObject({
      status: 200,
      error: { code: -32004, message: 'Task not found', data: { taskId: 'task-999' } },
    })
    // Other endpoints answer malformed requests with the status 200.
    const other = await fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{',
    })
    expect(other.status).toBe(200)
  })

  it('a stream and a send end with an internal error if the agent fails before its first event', async () => {
    const { server } = await startTestServer((turn) => {
      if (turn.text === 'cats') throw new Error('secret')
      return throwError(() => new Error('secret'))
    })
    const streams = [
      ['/api/a2a', 'cats', 'v0.3-house'],
      ['/api/a2a', 'dogs', 'v0.3-house'],
      ['/', 'dogs', 'v0.3'],
    ] as const
    for (const [path, text, dialect] of streams) {
      const message = messageOf([{ kind: 'text', text }])
      const events = await answersTo(`${server.url}${path}`, call('message/stream', message))
      const last = events.at(-1)
      if (dialect === 'v0.3') {
        expect(last.result.status.state).toBe('failed')
        continue
      }
      expect(last.error).toMatchObject({ code: -32603, data: { taskId: expect.any(String) } })
      expect(JSON.stringify(events)).not.toContain('secret')
      const id = last.error.data.taskId
      const read = await jsonRpc(`${server.url}${path}`).call('tasks/get', { id })
      expect(read.result.status.state).toBe('failed')
      const sent = await jsonRpc(`${server.url}${path}`).call('message/send', messageOf([{ kind: 'text', text }]))
      expect(sent.error).toMatchObject({ code: -32603, data: { taskId: expect.any(String) } })
    }
  })

  it('a started task is submitted in other dialects', async () => {
    const { server, wire } = await startTestServer(async (turn) => {
      await turn.status('started', 'On it')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    })
    const statesAt = async (path: string) => {
      const id = await disconnectEarly(`${server.url}${path}`, call('message/stream', searchMessage))
      const { result } = await jsonRpc(`${server.url}${path}`).call('tasks/get', { id })
      return [result.status.state, (await wire.getTask(id)).status.state]
    }
    expect(await statesAt('/api/a2a')).toEqual(['started', 'TASK_STATE_SUBMITTED'])
    expect(await statesAt('/')).toEqual(['submitted', 'TASK_STATE_SUBMITTED'])
  })

  /** Works until it is aborted. */
  async function endless(turn: Turn): Promise<undefined> {
    await turn.status('working', 'on it')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  }

  /** Opens a stream, reads its first event and disconnects. Returns the id of its task. */
  async function disconnectEarly(
    url: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const aborter = new AbortController()
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: aborter.signal,
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (text.includes('\n\n')) break
    }
    aborter.abort()
    const event = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
    const { id } = event.result?.task ?? event.result ?? event.task ?? event
    return id
  }

  it('cancelOnDisconnect cancels the task of a caller that leaves a 0.3 REST stream, and no other', async () => {
    const { server, wire } = await startTestServer(endless, {
      dialects: { compatibility: { cancelOnDisconnect: true } },
    })
    const stateOf = async (id: string) => (await wire.getTask(id)).status.state
    const canceled = await disconnectEarly(`${server.url}/v1/message:stream`, searchMessage)
    await until(async () => (await stateOf(canceled)) === 'TASK_STATE_CANCELED')
    const running = [
      await disconnectEarly(`${server.url}/api/a2a`, call('message/stream', searchMessage)),
      await disconnectEarly(`${server.url}/message:stream`, {
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
      }),
    ]
    const another = await disconnectEarly(`${server.url}/v1/message:stream`, searchMessage)
    await until(async () => (await stateOf(another)) === 'TASK_STATE_CANCELED')
    for (const id of running) expect(await stateOf(id)).toBe('TASK_STATE_WORKING')
  })

  it('cancelOnDisconnect cancels neither paused tasks nor tasks of subscribers', async () => {
    const { server, wire } = await startTestServer(
      async (turn) =>
        turn.text === 'cats' ? await turn.requireInput('Which?').then(() => undefined) : await endless(turn),
      { dialects: { compatibility: { cancelOnDisconnect: true } } },
    )
    const waiting = await disconnectEarly(`${server.url}/v1/message:stream`, searchMessage)
    const { id: subscribed } = await wire.sendTask('dogs', { configuration: { returnImmediately: true } })
    await disconnectEarly(`${server.url}/v1/tasks/${subscribed}:subscribe`, {}, { 'a2a-version': '0.3' })
    const canceled = await disconnectEarly(
      `${server.url}/v1/message:stream`,
      messageOf([{ kind: 'text', text: 'dogs' }]),
    )
    await until(async () => (await wire.getTask(canceled)).status.state === 'TASK_STATE_CANCELED')
    expect((await wire.getTask(waiting)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect((await wire.getTask(subscribed)).status.state).toBe('TASK_STATE_WORKING')
  })

  it('a disconnect cancels no task by default', async () => {
    const { server, wire } = await startTestServer(endless)
    const id = await disconnectEarly(`${server.url}/v1/message:stream`, searchMessage)
    await wire.sendTask('x', { configuration: { returnImmediately: true } })
    expect((await wire.getTask(id)).status.state).toBe('TASK_STATE_WORKING')
  })

  it('cancelOnDisconnect works before the first event', async () => {
    const stopped = deferred()
    const { server } = await startTestServer(
      async (turn) => {
        turn.signal.addEventListener('abort', () => stopped.resolve())
        await stopped.promise
        return undefined
      },
      { dialects: { compatibility: { cancelOnDisconnect: true } }, http: { heartbeat: 50 } },
    )
    const aborter = new AbortController()
    const response = await fetch(`${server.url}/v1/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(searchMessage),
      signal: aborter.signal,
    })
    expect(response.status).toBe(200)
    aborter.abort()
    await stopped.promise
  })

  it('restEnvelope wraps REST responses and events of 0.3 and the house dialect', async () => {
    const { server } = await startTestServer(search, { dialects: { compatibility: { restEnvelope: 'wrapped' } } })
    const post = (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      return fetch(`${server.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    }
    const { task } = await (await post('message:send', searchMessage)).json()
    expect(task).toMatchObject({ kind: 'task', status: { state: 'input-required' } })
    const events = await eventsOf(post('message:stream', messageOf([result], { referenceTaskIds: [task.id] })))
    expect(events.map((event) => Object.keys(event).join())).toEqual(['task', 'artifactUpdate', 'statusUpdate'])
    const got = await (await fetch(`${server.url}/v1/tasks/${task.id}`)).json()
    expect(got).toMatchObject({ kind: 'task', id: task.id })
  })
})

describe('what the house profile has and 0.3 has not', () => {
  const text = (words: string, more: object = {}) => messageOf([{ kind: 'text', text: words }], more)

  /** Fails as its caller asks for. */
  async function failing(turn: Turn): Promise<string> {
    if (turn.text.startsWith('late')) await turn.status('working')
    if (turn.text.endsWith('tool')) throw new A2AError('tool-failed', 'The search is down.')
    if (turn.text.endsWith('context')) throw new A2AError('context-not-found', 'Where?')
    if (turn.text.endsWith('crash')) throw new Error('secret')
    return `Hello ${turn.text}`
  }

  it('a failed tool is the error -32002, from a send and a stream', async () => {
    const { server } = await startTestServer(failing)
    const house = jsonRpc(`${server.url}/api/a2a`)
    const error = { code: -32002, message: 'Tool execution failed', data: { taskId: expect.any(String) } }
    for (const words of ['tool', 'late tool']) {
      expect((await house.call('message/send', text(words))).error).toMatchObject(error)
      const events = await collect(house.stream('message/stream', text(words)))
      expect(events.at(-1)?.error).toMatchObject(error)
      const plain = await jsonRpc(server.url).call('message/send', text(words))
      expect(plain.result).toMatchObject({ kind: 'task', status: { state: 'failed' } })
    }
  })

  it('a context is unknown only if the agent says so', async () => {
    const { server } = await startTestServer(failing)
    const house = jsonRpc(`${server.url}/api/a2a`)
    const events = await collect(house.stream('message/stream', text('context')))
    expect(events.at(-1)?.error).toMatchObject({ code: -32003, message: 'Context not found' })
    expect((await house.call('message/send', text('context'))).error).toMatchObject({ code: -32003 })
    const begun = await house.call('message/send', text('x', { contextId: 'mine' }))
    expect(begun.result).toMatchObject({ kind: 'task', contextId: 'mine', status: { state: 'completed' } })
  })

  it('every send returns a task, unless alwaysTask is switched off', async () => {
    const { server } = await startTestServer(failing)
    const sent = await jsonRpc(`${server.url}/api/a2a`).call('message/send', text('you'))
    expect(sent.result).toMatchObject({ kind: 'task', status: { state: 'completed' } })
    expect(JSON.stringify(sent.result)).toContain('Hello you')
    const [first] = await collect(jsonRpc(`${server.url}/api/a2a`).stream('message/stream', text('you')))
    expect(first?.result).toMatchObject({ kind: 'task', status: { state: 'submitted' } })
    expect((await jsonRpc(server.url).call('message/send', text('you'))).result.kind).toBe('message')
    const { server: other } = await startTestServer(failing, { dialects: { house: { alwaysTask: false } } })
    expect((await jsonRpc(`${other.url}/api/a2a`).call('message/send', text('you'))).result.kind).toBe('message')
  })

  it('a message creates the task that it names, and later calls find it by that name', async () => {
    const { server } = await startTestServer(async (turn) => {
      if (turn.history.length === 0) return await turn.requireInput('And?')
      await turn.data([turn.text], 'answer')
    })
    const house = jsonRpc(`${server.url}/api/a2a`)
    const created = (await house.call('message/send', text('first', { taskId: 'mine' }))).result
    expect(created).toMatchObject({ kind: 'task', id: 'mine', status: { state: 'input-required' } })
    expect(created.status.message.taskId ?? 'mine').toBe('mine')
    expect((await house.call('tasks/get', { id: 'mine' })).result).toMatchObject({ id: 'mine' })
    const events = await collect(house.stream('message/stream', text('second', { taskId: 'mine' })))
    expect(new Set(events.map(({ result }) => result.taskId ?? result.id))).toEqual(new Set(['mine']))
    expect(events.at(-1)?.result).toMatchObject({ status: { state: 'completed' }, final: true })
    const { tasks } = (await jsonRpc(server.url, { 'a2a-version': '1.0' }).call('ListTasks', {})).result
    expect(tasks).toHaveLength(1)
    const real = await house.call('tasks/get', { taskId: tasks[0].id })
    expect(real.result).toMatchObject({ id: tasks[0].id, status: { state: 'completed' } })
    expect((await jsonRpc(server.url).call('message/send', text('x', { taskId: 'theirs' }))).error?.code).toBe(-32001)
    const { server: other } = await startTestServer(search, { dialects: { house: { ownTaskIds: false } } })
    const refused = await jsonRpc(`${other.url}/api/a2a`).call('message/send', text('x', { taskId: 'mine' }))
    expect(refused.error).toMatchObject({ code: -32004, message: 'Task not found' })
  })

  it('a failure over REST is a 500, and in a stream an event with the task', async () => {
    const { server } = await startTestServer(failing)
    const post = (path: string, body: object) =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const use = { kind: 'tool-use', toolUseId: 'u', name: 'n', arguments: {} }
    const crash = messageOf([{ kind: 'text', text: 'crash' }, use])
    const failed = await jsonOf(post('/v1/message:send', crash))
    expect(failed).toMatchObject({ status: 500, body: { error: { code: 500, message: expect.any(String) } } })
    const events = await eventsOf(post('/v1/message:stream', messageOf(crash.message.parts)))
    expect(events.at(-1)).toMatchObject({ error: { code: 500, data: { taskId: expect.any(String) } } })
    expect(JSON.stringify([failed, events])).not.toContain('secret')
    const plain = await jsonOf(post('/v1/message:send', text('crash')))
    expect(plain).toMatchObject({ status: 200, body: { kind: 'task', status: { state: 'failed' } } })
  })

  it('the options switch each back', async () => {
    const house = { codes: false, timeoutAsError: false }
    const { server } = await startTestServer(failing, { dialects: { house } })
    const rpc = jsonRpc(`${server.url}/api/a2a`)
    expect((await rpc.call('message/send', text('late tool'))).result.status.state).toBe('failed')
    expect((await rpc.call('message/send', text('context'))).error?.code).toBe(-32052)
  })
})
