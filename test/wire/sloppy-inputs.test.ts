import { describe, expect, it } from 'vitest'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

const part = { kind: 'text', text: 'hi' }
const message = { kind: 'message', messageId: 'm', role: 'user', parts: [part] }
const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const sending = (more: object) => call('message/send', { message: { ...message, ...more } })
const { kind: _, ...kindless } = message

/** What callers of A2A 0.1 to 0.3 send although their schema does not allow it. */
const sloppy: readonly (readonly [string, object])[] = [
  [
    'the id of the message beside it',
    call('message/send', { messageId: 'm', message: { role: 'user', parts: [part] } }),
  ],
  ['params that are the message', call('message/send', message)],
  ['a message without kind', call('message/send', { message: kindless })],
  ['parts with type', sending({ parts: [{ type: 'text', text: 'hi' }] })],
  ['parts with neither', sending({ parts: [{ text: 'hi' }] })],
  ['a file with data for bytes', sending({ parts: [part, { kind: 'file', file: { name: 'a', data: 'aGk=' } }] })],
  ['data that is a list', sending({ parts: [part, { kind: 'data', data: [1] }] })],
  ['empty ids', sending({ taskId: '', contextId: '' })],
  ['the role of an agent', sending({ role: 'agent' })],
  ['parts of 0.1 with kind', call('tasks/send', { id: 't', message: { role: 'user', parts: [part] } })],
]

/** What they may send. */
const proper: readonly (readonly [string, object])[] = [
  ['a configuration without modes', call('message/send', { message, configuration: {} })],
  [
    'null in 0.1',
    call('tasks/send', {
      id: 't',
      sessionId: null,
      message: { role: 'user', parts: [{ type: 'text', text: 'hi', metadata: null }] },
      metadata: null,
      historyLength: null,
      pushNotification: null,
    }),
  ],
  [
    'names of the proto',
    call('message/send', { message: { kind: 'message', message_id: 'm', role: 'user', parts: [part] } }),
  ],
]

async function post(body: object | string, options: TestServerOptions = {}) {
  const { server } = await startTestServer(async (turn) => `heard ${turn.text}`, options)
  const headers = { 'content-type': 'application/json' }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(server.url, { method: 'POST', headers, body: text })
  const { id, result, error } = await response.json()
  return { id, error, told: JSON.stringify(result) }
}

describe('sloppy input', () => {
  it.each(sloppy)('is understood, and refused by the strict: %s', async (_, body) => {
    expect((await post(body)).told).toContain('heard hi')
    expect((await post(body, { dialects: { strict: true } })).error).toMatchObject({ code: -32602 })
  })

  it.each(proper)('it is none, also for the strict: %s', async (_, body) => {
    expect((await post(body)).told).toContain('heard hi')
    expect((await post(body, { dialects: { strict: true } })).told).toContain('heard hi')
  })

  it.each(['{"jsonrpc":"2.0",}', '{"jsonrpc":"2.0"} // a comment', "{'jsonrpc':'2.0'}"])(
    'that is no JSON is refused: %s',
    async (text) => {
      expect((await post(text)).error).toMatchObject({ code: -32700 })
    },
  )

  it('without an envelope is taken only by those who say so', async () => {
    const { jsonrpc: _, id: __, ...bare } = sending({})
    expect(await post(bare)).toMatchObject({ id: null, error: { code: -32600 } })
    expect(await post(bare, { dialects: { lenientEnvelope: true } })).toMatchObject({
      id: null,
      told: expect.stringContaining('heard hi'),
    })
    expect((await post({ ...bare, jsonrpc: '1.0' }, { dialects: { lenientEnvelope: true } })).error).toMatchObject({
      code: -32600,
    })
  })
})
