import { status } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { connect } from '../../../src/entries/client.ts'
import { collect } from '../../support/async.ts'
import { grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

let runs = 0

async function counting(): Promise<string> {
  return `${++runs}`
}

async function start() {
  const { server } = await startTestServer(counting, { grpc: true, capabilities: { streaming: false } })
  return server
}

const rpc = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const v10 = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } }
const v03 = { message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'hi' }] } }
const proto = { message: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'hi' }] } }
const v02 = { message: { messageId: 'm', role: 'user', parts: [{ type: 'text', text: 'hi' }] } }
const v01 = { id: 't', message: { role: 'user', parts: [{ type: 'text', text: 'hi' }] } }

describe('an agent without streaming', () => {
  it.each([
    ['1.0 JSON-RPC', '/', rpc('SendStreamingMessage', v10), -32004],
    ['a 1.0 JSON-RPC subscription', '/', rpc('SubscribeToTask', { id: 't' }), -32004],
    ['1.0 REST', '/message:stream', v10, 'UNSUPPORTED_OPERATION'],
    ['a 1.0 REST subscription', '/tasks/t:subscribe', undefined, 'UNSUPPORTED_OPERATION'],
    ['0.3 JSON-RPC', '/', rpc('message/stream', v03), -32004],
    ['a 0.3 JSON-RPC subscription', '/', rpc('tasks/resubscribe', { id: 't' }), -32004],
    ['0.3 REST', '/v1/message:stream', proto, -32004],
    ['the 0.3 house dialect', '/api/a2a', rpc('message/stream', v03), -32014],
    ['0.2 JSON-RPC', '/', rpc('message/stream', v02), -32004],
    ['0.1 JSON-RPC', '/', rpc('tasks/sendSubscribe', v01), -32006],
    ['a 0.1 JSON-RPC subscription', '/', rpc('tasks/resubscribe', { id: 't' }), -32004],
  ])('a stream over %s is rejected before anything runs', async (_, path, body, code) => {
    const { url } = await start()
    const before = runs
    const headers = { 'content-type': 'application/json' }
    const init = body ? { method: 'POST', headers, body: JSON.stringify(body) } : {}
    const text = await (await fetch(`${url}${path}`, init)).text()
    expect(text).toContain(`${code}`)
    expect(text).toContain('This agent does not stream')
    expect(runs).toBe(before)
  })

  it.each([
    ['lf.a2a.v1.A2AService/SendStreamingMessage', v10],
    ['a2a.v1.A2AService/SendStreamingMessage', { request: proto.message }],
  ])('a stream over gRPC is rejected: %s', async (method, request) => {
    const { port } = await start()
    const { messages, status: ended } = await readAll(grpcClient(port).stream(method, request))
    expect(messages).toEqual([])
    expect([status.UNIMPLEMENTED, status.FAILED_PRECONDITION]).toContain(ended.code)
    expect(ended.details).toContain('This agent does not stream')
  })

  it('the card says so in every version, and clients get the task in another way', async () => {
    const server = await start()
    for (const version of ['1.0', '0.3']) {
      const card = await (await fetch(server.cardUrl, { headers: { 'a2a-version': version } })).json()
      expect(card.capabilities.streaming).toBe(false)
    }
    const client = await connect(server.url)
    expect((await collect(client.stream('go'))).at(-1)).toMatchObject({
      type: 'status',
      status: { state: 'completed' },
    })
    expect(await client.send('go')).toMatchObject({ type: 'message' })
  })
})

it('the cards before 1.0 say whether tasks keep the messages of earlier statuses', async () => {
  const capabilitiesOf = async (stateTransitionHistory: boolean | undefined, cards: '0.3' | '1.0' | 'legacy') => {
    const capabilities = stateTransitionHistory === undefined ? {} : { stateTransitionHistory }
    const { server } = await startTestServer(counting, { capabilities, dialects: { cards } })
    return (await (await fetch(server.cardUrl)).json()).capabilities
  }
  for (const value of [true, false]) {
    expect(await capabilitiesOf(value, '0.3')).toMatchObject({ stateTransitionHistory: value })
    expect(await capabilitiesOf(value, 'legacy')).toMatchObject({ stateTransitionHistory: value })
    expect(await capabilitiesOf(value, '1.0')).not.toHaveProperty('stateTransitionHistory')
  }
  expect(await capabilitiesOf(undefined, '0.3')).not.toHaveProperty('stateTransitionHistory')
})

it('an unknown capability is rejected at start', async () => {
  const start = startTestServer(counting, { capabilities: { stream: false } as never })
  await expect(start).rejects.toThrow('streaming')
})
