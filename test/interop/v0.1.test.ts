import { describe, expect, it } from 'vitest'
import { count, profile } from '../support/agents/interop-agent.ts'
import { collect } from '../support/async.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { type JsonRpc, jsonRpc, type RpcResponse } from '../support/wire/json-rpc.ts'

/** There is no 0.1 SDK on npm: these are the requests of its specification. */
async function open(): Promise<JsonRpc> {
  const { server } = await startTestServer(count, { profile })
  const card = await (await fetch(new URL('/.well-known/agent.json', server.url))).json()
  return jsonRpc(card.url)
}

function messageOf(text: string) {
  return { role: 'user', parts: [{ type: 'text', text }] }
}

async function startWaitingTask(rpc: JsonRpc, id: string): Promise<AsyncGenerator<RpcResponse>> {
  const events = rpc.stream('tasks/sendSubscribe', { id, message: messageOf('wait') }, 'begin')
  expect((await events.next()).value.result.status).toEqual({ state: 'submitted', timestamp })
  const message = agentMessage('Counting')
  expect((await events.next()).value.result.status).toEqual({ state: 'working', message, timestamp })
  return events
}

const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const agentMessage = (text: string) => ({ role: 'agent', parts: [{ type: 'text', text }] })

describe('an A2A 0.1 client', () => {
  it('the card at /.well-known/agent.json has all members that 0.1 requires', async () => {
    const { server } = await startTestServer(count, { profile })
    const card = await (await fetch(new URL('/.well-known/agent.json', server.url))).json()
    expect(card).toMatchObject({ ...profile, url: `${server.url}/`, capabilities: { streaming: true } })
  })

  it('the client chooses the ids of its task and its session', async () => {
    const rpc = await open()
    const answer = await rpc.call('tasks/send', { id: 't-1', sessionId: 's-1', message: messageOf('count') }, 7)
    const parts = [{ type: 'text', text: 'onetwothree' }]
    expect(answer).toEqual({
      jsonrpc: '2.0',
      id: 7,
      result: {
        id: 't-1',
        sessionId: 's-1',
        status: { state: 'completed', message: agentMessage('Counted'), timestamp },
        artifacts: [{ name: 'numbers', parts, index: 0 }],
      },
    })
    expect((await rpc.call('tasks/get', { id: 't-1' })).result).toEqual(answer.result)
  })

  it('null is accepted for every optional member', async () => {
    const rpc = await open()
    const nulls = { sessionId: null, pushNotification: null, historyLength: null, metadata: null }
    const { result } = await rpc.call('tasks/send', { id: 't-1', message: messageOf('count'), ...nulls })
    expect(result).toMatchObject({ id: 't-1', status: { state: 'completed' } })
    expect(result.history).toBeUndefined()
  })

  it('a message of the agent becomes a task that can be read later', async () => {
    const rpc = await open()
    const { result } = await rpc.call('tasks/send', { id: 't-1', message: messageOf('hello') })
    expect(result).toMatchObject({ id: 't-1', status: { state: 'completed', message: agentMessage('hi') } })
    expect((await rpc.call('tasks/get', { id: 't-1' })).result).toMatchObject({ id: 't-1', status: result.status })
  })

  it('a stream contains status and artifact events and no task', async () => {
    const rpc = await open()
    const events = await collect(rpc.stream('tasks/sendSubscribe', { id: 't-1', message: messageOf('count') }, 'r-5'))
    expect(events.map(({ id }) => id)).toEqual(Array(6).fill('r-5'))
    const chunk = (text: string, flags: object) => ({
      id: 't-1',
      artifact: { parts: [{ type: 'text', text }], index: 0, ...flags },
    })
    expect(events.map(({ result }) => result)).toEqual([
      { id: 't-1', status: { state: 'submitted', timestamp }, final: false },
      { id: 't-1', status: { state: 'working', message: agentMessage('Counting'), timestamp }, final: false },
      chunk('one', { name: 'numbers', append: false, lastChunk: false }),
      chunk('two', { append: true, lastChunk: false }),
      chunk('three', { append: true, lastChunk: true }),
      { id: 't-1', status: { state: 'completed', message: agentMessage('Counted'), timestamp }, final: true },
    ])
  })

  it('the client answers a question under the same task id, even with a repeated text', async () => {
    const rpc = await open()
    const send = async (text: string) => (await rpc.call('tasks/send', { id: 't-1', message: messageOf(text) })).result
    expect(await send('ask')).toMatchObject({ id: 't-1', status: { state: 'input-required' } })
    expect(await send('ask')).toMatchObject({ id: 't-1', status: { state: 'input-required' } })
    expect(await send('three')).toMatchObject({ id: 't-1', status: { state: 'completed' } })
    const { result } = await rpc.call('tasks/get', { id: 't-1', historyLength: 100 })
    const userMessages = result.history.filter(({ role }: { role: string }) => role === 'user')
    expect(userMessages).toEqual([messageOf('ask'), messageOf('ask'), messageOf('three')])
  })

  it('a question is the last event of a stream', async () => {
    const rpc = await open()
    const events = await collect(rpc.stream('tasks/sendSubscribe', { id: 't-1', message: messageOf('ask') }))
    expect(events.map(({ result }) => result)).toMatchObject([
      { status: { state: 'submitted' }, final: false },
      { status: { state: 'working', message: agentMessage('Counting') }, final: false },
      { status: { state: 'input-required', message: agentMessage('Up to what?') }, final: true },
    ])
  })

  it('historyLength limits the history', async () => {
    const rpc = await open()
    await rpc.call('tasks/send', { id: 't-1', message: messageOf('ask') })
    const sent = await rpc.call('tasks/send', { id: 't-1', message: messageOf('three'), historyLength: 1 })
    expect(sent.result.history).toEqual([agentMessage('Counting')])
    const get = async (historyLength?: number) => (await rpc.call('tasks/get', { id: 't-1', historyLength })).result
    expect((await get(2)).history).toEqual([messageOf('three'), agentMessage('Counting')])
    expect((await get(0)).history).toBeUndefined()
    expect((await get()).history).toBeUndefined()
  })

  it('canceling a running task ends its stream', async () => {
    const rpc = await open()
    const events = await startWaitingTask(rpc, 't-1')
    const { result } = await rpc.call('tasks/cancel', { id: 't-1' })
    expect(result).toMatchObject({ id: 't-1', status: { state: 'canceled' } })
    expect(await collect(events)).toMatchObject([{ id: 'begin', result: { id: 't-1', final: true } }])
  })

  it('tasks/resubscribe continues a stream', async () => {
    const rpc = await open()
    await (await startWaitingTask(rpc, 't-1')).return(undefined)
    const events = rpc.stream('tasks/resubscribe', { id: 't-1', historyLength: 5 }, 'again')
    const { value } = await events.next()
    expect(value).toMatchObject({ id: 'again', result: { id: 't-1', status: { state: 'working' }, final: false } })
    await rpc.call('tasks/cancel', { id: 't-1' })
    expect(await collect(events)).toMatchObject([
      { id: 'again', result: { status: { state: 'canceled' }, final: true } },
    ])
  })

  it('tasks/resubscribe returns the final status of an ended task', async () => {
    const rpc = await open()
    await rpc.call('tasks/send', { id: 't-1', message: messageOf('count') })
    const events = await collect(rpc.stream('tasks/resubscribe', { id: 't-1' }))
    expect(events.at(-1)).toMatchObject({ result: { id: 't-1', status: { state: 'completed' }, final: true } })
  })
})

describe('A2A 0.1 errors', () => {
  const push = { url: 'https://example.com/hook' }

  it.each([
    ['tasks/get', { id: 'unknown-task' }, -32001, 'Task not found'],
    ['tasks/cancel', { id: 'unknown-task' }, -32001, 'Task not found'],
    ['tasks/cancel', { id: 't-1' }, -32002, 'Task cannot be canceled'],
    [
      'tasks/pushNotification/set',
      { id: 't-1', pushNotificationConfig: push },
      -32003,
      'Push Notification is not supported',
    ],
    ['tasks/pushNotification/get', { id: 't-1' }, -32003, 'Push Notification is not supported'],
    [
      'tasks/send',
      { id: 't-2', message: messageOf('count'), pushNotification: push },
      -32003,
      'Push Notification is not supported',
    ],
    ['tasks/send', { id: 't-1', message: messageOf('more') }, -32009, 'Invalid task state'],
    ['tasks/send', { message: messageOf('count') }, -32602, 'Invalid parameters'],
    ['tasks/list', {}, -32601, 'Method not found'],
  ])('%s with %j fails with %i and the text of the specification', async (method, params, code, message) => {
    const { server } = await startTestServer(count, { profile })
    const rpc = jsonRpc(server.url, { 'a2a-version': '0.1' })
    await rpc.call('tasks/send', { id: 't-1', message: messageOf('count') })
    const { result, error } = await rpc.call(method, params)
    expect(result).toBeUndefined()
    expect(error).toMatchObject({ code, message })
  })

  it('an error before a stream starts is its only event', async () => {
    const rpc = await open()
    await rpc.call('tasks/send', { id: 't-1', message: messageOf('count') })
    const events = await collect(rpc.stream('tasks/sendSubscribe', { id: 't-1', message: messageOf('more') }, 4))
    expect(events).toMatchObject([{ id: 4, error: { code: -32009, message: 'Invalid task state' } }])
  })
})
