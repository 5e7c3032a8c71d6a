import { afterEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { exchangeBytes } from '../../support/wire/raw-http1.ts'
import { sendParams, type WireResponse } from '../../support/wire/wire-client.ts'

let current: TestServer | undefined

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  current = await startTestServer(async () => 'hello', options)
  return current
}

/** The server still answers after every test. */
afterEach(async () => {
  expect((await current?.wire.send('still there?'))?.message?.parts).toEqual([{ text: 'hello' }])
})

const hello = sendParams('hi').message
const request = (params: unknown) => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })

async function rejectionOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/json')
  const { id, error } = (await response.json()) as WireResponse<never>
  return { status: response.status, id, code: error?.code, message: error?.message }
}

describe('the size of a body', () => {
  const tooLarge = { status: 413, id: null, code: -32600, message: 'The body is longer than 2000 bytes.' }

  it('a declared length over the limit is rejected at once', async () => {
    const { server } = await start({ http: { bodyLimit: 2000 } })
    // The body is never sent: the header alone causes the response.
    const head = [
      'POST / HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      'Content-Length: 2001',
      '',
      '',
    ]
    const { status, body } = await exchangeBytes(server.port, [head.join('\r\n')])
    expect(status).toBe(413)
    expect(JSON.parse(body)).toMatchObject({ error: { code: -32600, message: tooLarge.message } })
  })

  it('a body without a declared length is rejected when it exceeds the limit', async () => {
    const { server } = await start({ http: { bodyLimit: 2000 } })
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(' '.repeat(1000))),
    })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(server.url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    expect(await rejectionOf(response)).toEqual(tooLarge)
  })

  it('a body of exactly the limit is accepted', async () => {
    const { wire } = await start({ http: { bodyLimit: 2000 } })
    const text = JSON.stringify(request({ message: hello }))
    expect((await wire.post(text.padEnd(2000))).status).toBe(200)
    expect(await rejectionOf(await wire.post(text.padEnd(2001)))).toEqual(tooLarge)
  })

  it('the limit defaults to 10 MiB', async () => {
    const { wire } = await start()
    const text = JSON.stringify(request({ message: hello }))
    expect((await wire.post(text.padEnd(10 * 2 ** 20))).status).toBe(200)
    expect((await wire.post(text.padEnd(10 * 2 ** 20 + 1))).status).toBe(413)
  })
})

describe('invalid JSON', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const data = (value: string) =>
    JSON.stringify(request({ message: hello })).replace('"hi"', `"hi","metadata":${value}`)

  it.each([
    ['deep nesting', data(`{"a":${nested(100_000)}}`), 'Invalid JSON payload: nested deeper than 64 levels.'],
    ['a duplicate key', '{"jsonrpc":"2.0","id":1,"id":2}', 'Invalid JSON payload: duplicate key "id" at position 24.'],
    ['an escaped duplicate key', data('{"a":1,"\\u0061":2}'), 'duplicate key "a"'],
    [
      'malformed UTF-8',
      Buffer.from('{"jsonrpc":"2.0","id":"\xff"}', 'latin1'),
      'Invalid JSON payload: not valid UTF-8.',
    ],
    ['truncated text', '{"jsonrpc":"2.0"', 'Invalid JSON payload: not valid JSON at position 16.'],
    ['an empty body', '', 'Invalid JSON payload: not valid JSON at position 0.'],
    ['NaN', '{"id":NaN}', 'Invalid JSON payload: not valid JSON at position 6.'],
  ])('JSON with %s is rejected', async (_name, body, message) => {
    const { wire } = await start()
    const rejection = await rejectionOf(await wire.post(body))
    expect(rejection).toMatchObject({ status: 200, id: null, code: -32700 })
    expect(rejection.message).toContain(message)
  })

  it('nesting up to the limit is accepted', async () => {
    const { wire } = await start()
    const around = 6 // the request, its params, the message, its parts, the part, its metadata
    expect(await (await wire.post(data(`{"a":${nested(64 - around)}}`))).json()).toHaveProperty('result')
    expect(await (await wire.post(data(`{"a":${nested(65 - around)}}`))).json()).toHaveProperty('error')
  })
})

describe('an invalid JSON-RPC envelope', () => {
  const invalid = (detail: string) => `Request payload validation error: ${detail}`
  const noBatch = 'Batches are not part of A2A: send one request at a time.'
  const noId = 'id must be a string of at most 256 characters, an integer or null.'

  it.each([
    ['an empty batch', [], noBatch],
    ['a batch', [request({ message: hello })], noBatch],
    ['a string', '"text"', 'A JSON-RPC request is an object.'],
    ['null', 'null', 'A JSON-RPC request is an object.'],
    [
      'no id',
      { jsonrpc: '2.0', method: 'GetTask', params: { id: 'x' } },
      'id is missing: every request of A2A is answered.',
    ],
    ['an object as id', { jsonrpc: '2.0', id: {}, method: 'x' }, noId],
    ['a fractional id', { jsonrpc: '2.0', id: 1.5, method: 'x' }, noId],
    ['a long id', { jsonrpc: '2.0', id: 'x'.repeat(257), method: 'x' }, noId],
  ])('an envelope without a usable id is rejected with id null: %s', async (_name, body, detail) => {
    const { wire } = await start()
    const message = invalid(detail)
    expect(await rejectionOf(await wire.post(body))).toEqual({ status: 200, id: null, code: -32600, message })
  })

  it.each([
    [{ jsonrpc: '1.0', id: 1, method: 'GetTask' }, 'jsonrpc must be "2.0".'],
    [{ id: 1, method: 'GetTask' }, 'jsonrpc must be "2.0".'],
    [{ jsonrpc: '2.0', id: 1 }, 'method must be a string.'],
    [{ jsonrpc: '2.0', id: 1, method: 7 }, 'method must be a string.'],
  ])('an envelope with a usable id is rejected with that id: %j', async (body, detail) => {
    const { wire } = await start()
    const message = invalid(detail)
    expect(await rejectionOf(await wire.post(body))).toEqual({ status: 200, id: 1, code: -32600, message })
  })
})

describe('an invalid message', () => {
  const part = { text: 'x' }
  it.each([
    ['too many parts', { parts: Array(1001).fill(part) }, 'parts: expected a list of 1 to 1000 items, got 1001'],
    ['no parts', { parts: [] }, 'parts: expected a list of 1 to 1000 items, got 0'],
    ['parts that are not a list', { parts: part }, 'parts: expected a list of 1 to 1000 items, got an object'],
    ['a part with two contents', { parts: [{ text: 'x', url: 'y' }] }, 'parts[0]: expected exactly one of'],
    ['bytes that are not base64', { parts: [{ raw: '?' }] }, 'parts[0].raw: expected base64'],
    ['a long id', { messageId: 'x'.repeat(257) }, 'messageId: expected a string of 1 to 256 characters, got 257'],
    ['a long context', { contextId: 'x'.repeat(257) }, 'contextId: expected a string of 1 to 256 characters, got 257'],
    ['control characters in an id', { taskId: 'a\u0000b' }, 'taskId: expected an id, got control characters'],
    ['no id', { messageId: undefined }, 'messageId: expected a string of 1 to 256 characters, got nothing'],
    ['an id of another type', { messageId: 7 }, 'messageId: expected a string of 1 to 256 characters, got a number'],
    ['the role of the agent', { role: 'ROLE_AGENT' }, 'role: expected ROLE_USER, got ROLE_AGENT'],
    [
      'a 0.3 role',
      { role: 'user' },
      'role: expected one of ROLE_USER, ROLE_AGENT, got "user"; "user" looks like A2A 0.3',
    ],
    [
      'a 0.3 part',
      { parts: [{ kind: 'file', file: {} }] },
      'parts[0]: expected exactly one of text, raw, url, data, got none of them; a part with "kind" looks like A2A',
    ],
    ['metadata that is not an object', { metadata: [] }, 'metadata: expected an object, got a list'],
  ])('a message with %s is rejected', async (_name, fault, message) => {
    const { wire } = await start()
    const rejection = await rejectionOf(await wire.post(request({ message: { ...hello, ...fault } })))
    expect(rejection).toMatchObject({ status: 200, id: 1, code: -32602 })
    expect(rejection.message).toContain(`message.${message}`)
  })

  it('a message may have a thousand parts and an id of 256 characters', async () => {
    const { wire } = await start()
    const message = { ...hello, messageId: 'x'.repeat(256), parts: Array(1000).fill(part) }
    expect(await wire.result('SendMessage', { message })).toHaveProperty('message')
  })
})

describe('the content type', () => {
  const contentType = (type: string) => (type === '' ? [] : [`Content-Type: ${type}`])

  it.each(['', 'text/plain', 'application/xml', 'application/json; charset=utf-16', 'multipart/form-data'])(
    'a body of type %j is rejected before it is read',
    async (type) => {
      const { server } = await start()
      // Ten bytes are announced and never sent, so the server has not waited for them.
      const head = ['POST / HTTP/1.1', 'Host: localhost', ...contentType(type), 'Content-Length: 10', '', '']
      const { status, body } = await exchangeBytes(server.port, [head.join('\r\n')])
      expect(status).toBe(415)
      const message = 'Incompatible content types: The body must be JSON, with Content-Type: application/json.'
      expect(JSON.parse(body)).toMatchObject({ id: null, error: { code: -32005, message } })
    },
  )

  it.each(['application/json', 'APPLICATION/JSON; charset="UTF-8"', 'application/a2a+json', 'application/json-rpc'])(
    'a body of type %s is accepted',
    async (type) => {
      const { wire } = await start()
      expect(await wire.send('hi', {}, { 'content-type': type })).toHaveProperty('message')
    },
  )
})

describe('invalid headers', () => {
  it('headers over the limit are rejected', async () => {
    const { server } = await start()
    const head = ['POST / HTTP/1.1', 'Host: localhost', `A2A-Version: ${'1'.repeat(100_000)}`, '', '']
    const { status, head: responseHead, body } = await exchangeBytes(server.port, [head.join('\r\n')])
    expect(status).toBe(431)
    expect(responseHead).toContain('content-type: application/json')
    expect(JSON.parse(body)).toEqual({ error: { code: 431, message: 'The headers are longer than 16384 bytes.' } })
  })

  it('an invalid Idempotency-Key is rejected', async () => {
    const { wire } = await start()
    for (const key of ['', 'x'.repeat(256), 'ключ'.normalize()]) {
      const response = await wire.post(request({ message: hello }), { 'idempotency-key': encodeHeader(key) })
      const message = 'Invalid parameters: Idempotency-Key: expected 1 to 255 printable ASCII characters'
      expect(await rejectionOf(response)).toEqual({ status: 200, id: 1, code: -32602, message })
    }
  })
})

/** `fetch` sends headers as Latin-1. */
function encodeHeader(text: string): string {
  return Buffer.from(text).toString('latin1')
}
