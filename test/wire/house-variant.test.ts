import { describe, expect, it, onTestFinished } from 'vitest'
import type { Turn } from '../../src/agent/turn.ts'
import type { ServerDialect } from '../../src/dialects/dialect.ts'
import { v0_3 } from '../../src/dialects/v0.3/server.ts'
import { createHouseDialect, v0_3House } from '../../src/dialects/v0.3-house/server.ts'
import { v0_3Proto } from '../../src/dialects/v0.3-proto/server.ts'
import type { Exchange } from '../../src/http/exchange.ts'
import { toFetch } from '../../src/http/fetch.ts'
import { toolResult, toolUse } from '../../src/protocol/extensions/client-tools.ts'
import { anonymous } from '../../src/protocol/model.ts'
import { createJsonRpc } from '../../src/transports/jsonrpc/server.ts'
import { createRest } from '../../src/transports/rest/server.ts'
import { createTestRuntime } from '../support/agents/test-runtime.ts'
import { collect, deferred, until } from '../support/async.ts'
import { startTestServer as serveReal } from '../support/servers/test-server.ts'
import { jsonRpc } from '../support/wire/json-rpc.ts'

/** Has its caller search, and tells what was found. */
async function search(turn: Turn): Promise<void> {
  const found = turn.message.parts.find(({ mediaType }) => mediaType === toolResult)
  if (found && 'data' in found) return await turn.data(found.data, 'found')
  const data = { toolUseId: 'u-1', name: 'search', arguments: { query: turn.text } }
  await turn.requireInput([{ text: 'Please search.' }, { data, mediaType: toolUse }])
}

/** JSON-RPC at /api/a2a and REST below /v1, as an agent of the house has them. */
function served(house: ServerDialect = v0_3House) {
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

async function jsonOf(answer: Promise<Response>) {
  const response = await answer
  return { status: response.status, body: await response.json() }
}

async function eventsOf(answer: Promise<Response>) {
  const lines = (await (await answer).text()).split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)))
}

const wish = messageOf([{ kind: 'text', text: 'cats' }])
const result = { kind: 'tool-result', toolUseId: 'u-1', result: ['Tom'] }

describe('the house over JSON-RPC', () => {
  it('has its caller run a tool and takes the result by reference', async () => {
    const ask = served()
    const events = await eventsOf(ask('/api/a2a', call('message/stream', wish), 'text/event-stream'))
    const { id, status } = events[0].result
    expect(status.message.parts[1]).toEqual({
      kind: 'tool-use',
      toolUseId: 'u-1',
      name: 'search',
      arguments: { query: 'cats' },
    })
    const answer = messageOf([result], { referenceTaskIds: [id] })
    const { body } = await jsonOf(ask('/api/a2a', call('message/send', answer)))
    expect(body.result).toMatchObject({ id, status: { state: 'completed' } })
    expect(body.result.artifacts[0].parts).toMatchObject([{ data: { toolUseId: 'u-1', result: ['Tom'] } }])
    expect(body.result.history.at(-1).parts).toEqual([result])
  })

  it('follows a task by getting it with its taskId, and gets it if the caller takes no stream', async () => {
    const ask = served()
    const { body } = await jsonOf(ask('/api/a2a', call('message/send', wish)))
    const { id } = body.result
    const following = eventsOf(ask('/api/a2a', call('tasks/get', { taskId: id }), 'text/event-stream'))
    for (const params of [{ taskId: id }, { id }]) {
      expect((await jsonOf(ask('/api/a2a', call('tasks/get', params)))).body.result).toMatchObject({ kind: 'task', id })
    }
    await ask('/api/a2a', call('tasks/cancel', { id }))
    const told = (await following).map((event) => event.result)
    expect(told).toMatchObject([
      { kind: 'status-update', taskId: id, status: { state: 'input-required' }, final: false },
      { kind: 'status-update', taskId: id, status: { state: 'canceled' }, final: true },
    ])
  })
})

describe('the house over REST', () => {
  it('is told by its parts, and answered bare', async () => {
    const ask = served()
    const { body: task } = await jsonOf(ask('/v1/message:send', wish))
    expect(task).toMatchObject({ kind: 'task', status: { state: 'input-required' } })
    const answer = messageOf([result], { referenceTaskIds: [task.id] })
    const { body } = await jsonOf(ask('/v1/message:send', answer))
    expect(body).toMatchObject({ kind: 'task', id: task.id, status: { state: 'completed' } })
    expect(body.history.at(-1).parts).toEqual([result])
  })

  it('has one error if its own numbers are asked for', async () => {
    const ask = served(createHouseDialect({ legacyCodes: true }))
    const lost = messageOf([result], { taskId: 'nowhere' })
    expect(await jsonOf(ask('/v1/message:send', lost))).toMatchObject({
      status: 500,
      body: { error: { code: 500, message: 'Task not found', data: { reason: 'TASK_NOT_FOUND' } } },
    })
    const { body } = await jsonOf(ask('/api/a2a', call('message/send', lost)))
    expect(body.error).toMatchObject({ code: -32001, message: 'Task not found' })
  })
})

describe('options of the house', () => {
  it('keep a stream open while its task waits for input, which another one answers', async () => {
    const { server } = await serveReal(search, { dialects: { house: { holdStreamOnInput: true } } })
    const rpc = jsonRpc(`${server.url}/api/a2a`)
    const events = rpc.stream('message/stream', wish)
    const first = (await events.next()).value?.result
    expect(first).toMatchObject({ kind: 'task', status: { state: 'input-required' } })
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

  it('tell also as an error that nobody answered a request in time', async () => {
    const impatient = async (turn: Turn) => (await turn.ask('Which one?', { timeout: 100 })).text
    const { server } = await serveReal(impatient, {
      dialects: { house: { holdStreamOnInput: true, timeoutAsError: true } },
    })
    const events = await collect(jsonRpc(`${server.url}/api/a2a`).stream('message/stream', wish))
    expect(events[0]?.result.status.message.inputRequest).toMatchObject({ prompt: 'Which one?', sensitive: false })
    expect(events.at(-2)?.result).toMatchObject({
      final: true,
      status: { state: 'failed' },
      metadata: { reason: 'INPUT_TIMEOUT', timeoutSeconds: 0.1 },
    })
    const { id: taskId } = events[0]?.result ?? {}
    const data = { reason: 'INPUT_TIMEOUT', taskId, timeoutSeconds: 0.1 }
    expect(events.at(-1)?.error).toMatchObject({ code: -32050, data })
  })

  it('end it there otherwise', async () => {
    const { server } = await serveReal(search)
    const events = await collect(jsonRpc(`${server.url}/api/a2a`).stream('message/stream', wish))
    expect(events.at(-1)?.result.status.state).toBe('input-required')
  })

  /** Works until it is told to stop. */
  async function endless(turn: Turn): Promise<undefined> {
    await turn.status('working', 'on it')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
  }

  /** Opens a stream, reads its beginning, and leaves. Gives the id of its task. */
  async function leave(url: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<string> {
    const leaving = new AbortController()
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: leaving.signal,
    })
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += new TextDecoder().decode(chunk)
      if (text.includes('\n\n')) break
    }
    leaving.abort()
    const told = JSON.parse(/^data: (.*)$/m.exec(text)?.[1] ?? '{}')
    const { id } = told.result?.task ?? told.result ?? told.task ?? told
    return id
  }

  it('cancel a task whose caller leaves its stream over REST, and no other', async () => {
    const { server, wire } = await serveReal(endless, { dialects: { compatibility: { cancelOnDisconnect: true } } })
    const stateOf = async (id: string) => (await wire.getTask(id)).status.state
    const taken = await leave(`${server.url}/v1/message:stream`, wish)
    await until(async () => (await stateOf(taken)) === 'TASK_STATE_CANCELED')
    const kept = [
      await leave(`${server.url}/api/a2a`, call('message/stream', wish)),
      await leave(`${server.url}/message:stream`, {
        message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] },
      }),
    ]
    const another = await leave(`${server.url}/v1/message:stream`, wish)
    await until(async () => (await stateOf(another)) === 'TASK_STATE_CANCELED')
    for (const id of kept) expect(await stateOf(id)).toBe('TASK_STATE_WORKING')
  })

  it('cancel nothing that has come to the end of its stream, and nothing for those who only watch', async () => {
    const { server, wire } = await serveReal(
      async (turn) =>
        turn.text === 'cats' ? await turn.requireInput('Which?').then(() => undefined) : await endless(turn),
      { dialects: { compatibility: { cancelOnDisconnect: true } } },
    )
    const waiting = await leave(`${server.url}/v1/message:stream`, wish)
    const { id: watched } = await wire.sendTask('dogs', { configuration: { returnImmediately: true } })
    await leave(`${server.url}/v1/tasks/${watched}:subscribe`, {}, { 'a2a-version': '0.3' })
    const gone = await leave(`${server.url}/v1/message:stream`, messageOf([{ kind: 'text', text: 'dogs' }]))
    await until(async () => (await wire.getTask(gone)).status.state === 'TASK_STATE_CANCELED')
    expect((await wire.getTask(waiting)).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    expect((await wire.getTask(watched)).status.state).toBe('TASK_STATE_WORKING')
  })

  it('leave every task alone by default, whoever leaves', async () => {
    const { server, wire } = await serveReal(endless)
    const id = await leave(`${server.url}/v1/message:stream`, wish)
    await wire.sendTask('x', { configuration: { returnImmediately: true } })
    expect((await wire.getTask(id)).status.state).toBe('TASK_STATE_WORKING')
  })

  it('cancel also before the agent has said anything', async () => {
    const stopped = deferred()
    const { server } = await serveReal(
      async (turn) => {
        turn.signal.addEventListener('abort', () => stopped.resolve())
        await stopped.promise
        return undefined
      },
      { dialects: { compatibility: { cancelOnDisconnect: true } }, http: { heartbeat: 50 } },
    )
    const leaving = new AbortController()
    const response = await fetch(`${server.url}/v1/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(wish),
      signal: leaving.signal,
    })
    expect(response.status).toBe(200)
    leaving.abort()
    await stopped.promise
  })

  it('wrap what REST answers and tells, for speakers of the JSON of 0.3 and of the house', async () => {
    const { server } = await serveReal(search, { dialects: { compatibility: { restEnvelope: 'wrapped' } } })
    const post = (path: string, body: object) => {
      const headers = { 'content-type': 'application/json' }
      return fetch(`${server.url}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
    }
    const { task } = await (await post('message:send', wish)).json()
    expect(task).toMatchObject({ kind: 'task', status: { state: 'input-required' } })
    const events = await eventsOf(post('message:stream', messageOf([result], { referenceTaskIds: [task.id] })))
    expect(events.map((event) => Object.keys(event).join())).toEqual([
      'task',
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ])
    const got = await (await fetch(`${server.url}/v1/tasks/${task.id}`)).json()
    expect(got).toMatchObject({ kind: 'task', id: task.id })
  })
})
