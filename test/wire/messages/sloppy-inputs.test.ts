import { describe, expect, it } from 'vitest'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

const part = { kind: 'text', text: 'hi' }
const message = { kind: 'message', messageId: 'm', role: 'user', parts: [part] }
const call = (method: string, params: object) => ({ jsonrpc: '2.0', id: 1, method, params })
const sending = (more: object) => call('message/send', { message: { ...message, ...more } })
const { kind: _, ...kindless } = message

/** Input of real 0.1 to 0.3 clients that violates the schema. */
const sloppy: readonly (readonly [string, object])[] = [
  [
    'a message id beside the message',
    call('message/send', { messageId: 'm', message: { role: 'user', parts: [part] } }),
  ],
  ['params that are the message', call('message/send', message)],
  ['a message without kind', call('message/send', { message: kindless })],
  ['parts with type', sending({ parts: [{ type: 'text', text: 'hi' }] })],
  ['parts without kind or type', sending({ parts: [{ text: 'hi' }] })],
  [
    'a file with data instead of bytes',
    sending({ parts: [part, { kind: 'file', file: { name: 'a', mimeType: 'text/plain', data: 'aGk=' } }] }),
  ],
  ['data that is a list', sending({ parts: [part, { kind: 'data', data: [1] }] })],
  ['empty ids', sending({ taskId: '', contextId: '' })],
  ['the role agent', sending({ role: 'agent' })],
  ['0.1 parts with kind', call('tasks/send', { id: 't', message: { role: 'user', parts: [part] } })],
]

/** Unusual input that the schema allows. */
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
    'snake-case names',
    call('message/send', { message: { kind: 'message', message_id: 'm', role: 'user', parts: [part] } }),
  ],
]

async function post(body: object | string, options: TestServerOptions = {}) {
  const { server } = await startTestServer(async (turn) => `heard ${turn.text}`, options)
  const headers = { 'content-type': 'application/json' }
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(server.url, { method: 'POST', headers, body: text })
  const { id, result, error } = await response.json()
  return { id, error, reply: JSON.stringify(result) }
}

describe('sloppy input', () => {
  it.each(sloppy)('sloppy input is accepted, and rejected in strict mode: %s', async (_, body) => {
    expect((await post(body)).reply).toContain('heard hi')
    expect((await post(body, { dialects: { strict: true } })).error).toMatchObject({ code: -32602 })
  })

  it.each(proper)('valid input is accepted, also in strict mode: %s', async (_, body) => {
    expect((await post(body)).reply).toContain('heard hi')
    expect((await post(body, { dialects: { strict: true } })).reply).toContain('heard hi')
  })

  it.each(['{"jsonrpc":"2.0",}', '{"jsonrpc":"2.0"} // a comment', "{'jsonrpc':'2.0'}"])(
    'invalid JSON is rejected: %s',
    async (text) => {
      expect((await post(text)).error).toMatchObject({ code: -32700 })
    },
  )

  it('a request without an envelope is accepted only with lenientEnvelope', async () => {
    const { jsonrpc: _, id: __, ...bare } = sending({})
    expect(await post(bare)).toMatchObject({ id: null, error: { code: -32600 } })
    expect(await post(bare, { dialects: { lenientEnvelope: true } })).toMatchObject({
      id: null,
      reply: expect.stringContaining('heard hi'),
    })
    expect((await post({ ...bare, jsonrpc: '1.0' }, { dialects: { lenientEnvelope: true } })).error).toMatchObject({
      code: -32600,
    })
  })
})
