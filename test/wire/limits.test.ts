import { afterEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer, type TestServerOptions } from '../support/servers/test-server.ts'
import { exchangeBytes } from '../support/wire/raw-http1.ts'
import { sendParams, type WireResponse } from '../support/wire/wire-client.ts'

let current: TestServer | undefined

async function open(options: TestServerOptions = {}): Promise<TestServer> {
  current = await startTestServer(async () => 'hello', options)
  return current
}

/** Whatever a caller did, the next one is served. */
afterEach(async () => {
  expect((await current?.wire.send('still there?'))?.message?.parts).toEqual([{ text: 'hello' }])
})

const hello = sendParams('hi').message
const request = (params: unknown) => ({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params })

async function refusalOf(response: Response) {
  expect(response.headers.get('content-type')).toBe('application/json')
  const { id, error } = (await response.json()) as WireResponse<never>
  return { status: response.status, id, code: error?.code, message: error?.message }
}

describe('the size of a body', () => {
  const tooLarge = { status: 413, id: null, code: -32600, message: 'The body is longer than 2000 bytes.' }

  it('is refused as soon as it is declared', async () => {
    const { server } = await open({ http: { bodyLimit: 2000 } })
    // Nothing of the body is ever sent: the answer comes from the header alone.
    const head = ['POST / HTTP/1.1', 'Host: h', 'Content-Type: application/json', 'Content-Length: 2001', '', '']
    const { status, body } = await exchangeBytes(server.port, [head.join('\r\n')])
    expect(status).toBe(413)
    expect(JSON.parse(body)).toMatchObject({ error: { code: -32600, message: tooLarge.message } })
  })

  it('is refused when more comes, although nothing was declared', async () => {
    const { server } = await open({ http: { bodyLimit: 2000 } })
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(' '.repeat(1000))),
    })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(server.url, { method: 'POST', headers, body, duplex: 'half' } as RequestInit)
    expect(await refusalOf(response)).toEqual(tooLarge)
  })

  it('may be exactly the limit', async () => {
    const { wire } = await open({ http: { bodyLimit: 2000 } })
    const text = JSON.stringify(request({ message: hello }))
    expect((await wire.post(text.padEnd(2000))).status).toBe(200)
    expect(await refusalOf(await wire.post(text.padEnd(2001)))).toEqual(tooLarge)
  })

  it('is 10 MiB unless the operator says otherwise', async () => {
    const { wire } = await open()
    const text = JSON.stringify(request({ message: hello }))
    expect((await wire.post(text.padEnd(10 * 2 ** 20))).status).toBe(200)
    expect((await wire.post(text.padEnd(10 * 2 ** 20 + 1))).status).toBe(413)
  })
})

describe('JSON that is none, or means trouble', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`
  const data = (value: string) =>
    JSON.stringify(request({ message: hello })).replace('"hi"', `"hi","metadata":${value}`)

  it.each([
    ['nesting', data(`{"a":${nested(100_000)}}`), 'Invalid JSON: nested deeper than 64 levels.'],
    ['a key that comes twice', '{"jsonrpc":"2.0","id":1,"id":2}', 'Invalid JSON: duplicate key "id" at position 24.'],
    ['a hidden duplicate', data('{"a":1,"\\u0061":2}'), 'duplicate key "a"'],
    ['malformed UTF-8', Buffer.from('{"jsonrpc":"2.0","id":"\xff"}', 'latin1'), 'Invalid JSON: not valid UTF-8.'],
    ['a cut text', '{"jsonrpc":"2.0"', 'Invalid JSON: not valid JSON at position 16.'],
    ['nothing', '', 'Invalid JSON: not valid JSON at position 0.'],
    ['NaN', '{"id":NaN}', 'Invalid JSON: not valid JSON at position 6.'],
  ])('is refused: %s', async (_name, body, message) => {
    const { wire } = await open()
    const refusal = await refusalOf(await wire.post(body))
    expect(refusal).toMatchObject({ status: 200, id: null, code: -32700 })
    expect(refusal.message).toContain(message)
  })

  it('nesting up to the limit is fine', async () => {
    const { wire } = await open()
    const around = 6 // the request, its params, the message, its parts, the part, its metadata
    expect(await (await wire.post(data(`{"a":${nested(64 - around)}}`))).json()).toHaveProperty('result')
    expect(await (await wire.post(data(`{"a":${nested(65 - around)}}`))).json()).toHaveProperty('error')
  })
})

describe('an envelope', () => {
  const noBatch = 'Batches are not part of A2A: send one request at a time.'
  const noId = 'id must be a string of at most 256 characters, an integer or null.'

  it.each([
    ['an empty batch', [], noBatch],
    ['a batch', [request({ message: hello })], noBatch],
    ['a text', '"text"', 'A JSON-RPC request is an object.'],
    ['null', 'null', 'A JSON-RPC request is an object.'],
    ['no id', { jsonrpc: '2.0', method: 'GetTask' }, 'id is missing: every request of A2A is answered.'],
    ['an object as id', { jsonrpc: '2.0', id: {}, method: 'x' }, noId],
    ['half an id', { jsonrpc: '2.0', id: 1.5, method: 'x' }, noId],
    ['a long id', { jsonrpc: '2.0', id: 'x'.repeat(257), method: 'x' }, noId],
  ])('is refused without an id if there is none to trust: %s', async (_name, body, message) => {
    const { wire } = await open()
    expect(await refusalOf(await wire.post(body))).toEqual({ status: 200, id: null, code: -32600, message })
  })

  it.each([
    [{ jsonrpc: '1.0', id: 1, method: 'GetTask' }, 'jsonrpc must be "2.0".'],
    [{ id: 1, method: 'GetTask' }, 'jsonrpc must be "2.0".'],
    [{ jsonrpc: '2.0', id: 1 }, 'method must be a string.'],
    [{ jsonrpc: '2.0', id: 1, method: 7 }, 'method must be a string.'],
  ])('is refused with its id otherwise: %j', async (body, message) => {
    const { wire } = await open()
    expect(await refusalOf(await wire.post(body))).toEqual({ status: 200, id: 1, code: -32600, message })
  })
})

describe('a message', () => {
  const part = { text: 'x' }
  it.each([
    ['too many parts', { parts: Array(1001).fill(part) }, 'parts: expected a list of 1 to 1000 items, got 1001'],
    ['no parts', { parts: [] }, 'parts: expected a list of 1 to 1000 items, got 0'],
    ['parts that are no list', { parts: part }, 'parts: expected a list of 1 to 1000 items, got an object'],
    ['a part of two kinds', { parts: [{ text: 'x', url: 'y' }] }, 'parts[0]: expected exactly one of'],
    ['bytes that are no base64', { parts: [{ raw: '?' }] }, 'parts[0].raw: expected base64'],
    ['a long id', { messageId: 'x'.repeat(257) }, 'messageId: expected a string of 1 to 256 characters, got 257'],
    ['a long context', { contextId: 'x'.repeat(257) }, 'contextId: expected a string of 1 to 256 characters, got 257'],
    ['an id of control characters', { taskId: 'a\u0000b' }, 'taskId: expected an id, got control characters'],
    ['no id', { messageId: undefined }, 'messageId: expected a string of 1 to 256 characters, got nothing'],
    ['an id of another type', { messageId: 7 }, 'messageId: expected a string of 1 to 256 characters, got a number'],
    ['the role of the agent', { role: 'ROLE_AGENT' }, 'role: expected ROLE_USER, got ROLE_AGENT'],
    [
      'a role of A2A 0.3',
      { role: 'user' },
      'role: expected one of ROLE_USER, ROLE_AGENT, got "user"; "user" looks like A2A 0.3',
    ],
    [
      'a part of A2A 0.3',
      { parts: [{ kind: 'file', file: {} }] },
      'parts[0]: expected exactly one of text, raw, url, data, got none of them; a part with "kind" looks like A2A',
    ],
    ['metadata that is no object', { metadata: [] }, 'metadata: expected an object, got a list'],
  ])('is refused for %s', async (_name, fault, message) => {
    const { wire } = await open()
    const refusal = await refusalOf(await wire.post(request({ message: { ...hello, ...fault } })))
    expect(refusal).toMatchObject({ status: 200, id: 1, code: -32602 })
    expect(refusal.message).toContain(`message.${message}`)
  })

  it('may have a thousand parts and an id of 256 characters', async () => {
    const { wire } = await open()
    const message = { ...hello, messageId: 'x'.repeat(256), parts: Array(1000).fill(part) }
    expect(await wire.result('SendMessage', { message })).toHaveProperty('message')
  })
})

describe('a body that is not declared as JSON', () => {
  const declared = (type: string) => (type === '' ? [] : [`Content-Type: ${type}`])

  it.each(['', 'text/plain', 'application/xml', 'application/json; charset=utf-16', 'multipart/form-data'])(
    'is refused before it is read: %j',
    async (type) => {
      const { server } = await open()
      // Ten bytes are announced and never come, so whoever answers has not waited for them.
      const head = ['POST / HTTP/1.1', 'Host: h', ...declared(type), 'Content-Length: 10', '', '']
      const { status, body } = await exchangeBytes(server.port, [head.join('\r\n')])
      expect(status).toBe(415)
      const message = 'The body must be JSON, with Content-Type: application/json.'
      expect(JSON.parse(body)).toMatchObject({ id: null, error: { code: -32005, message } })
    },
  )

  it.each(['application/json', 'APPLICATION/JSON; charset="UTF-8"', 'application/a2a+json', 'application/json-rpc'])(
    'is not what a body of type %s is',
    async (type) => {
      const { wire } = await open()
      expect(await wire.send('hi', {}, { 'content-type': type })).toHaveProperty('message')
    },
  )
})

describe('headers', () => {
  it('that are too large are refused', async () => {
    const { server } = await open()
    const head = ['POST / HTTP/1.1', 'Host: h', `A2A-Version: ${'1'.repeat(100_000)}`, '', '']
    const { status, head: answered, body } = await exchangeBytes(server.port, [head.join('\r\n')])
    expect(status).toBe(431)
    expect(answered).toContain('content-type: application/json')
    expect(JSON.parse(body)).toEqual({ error: { code: 431, message: 'The headers are longer than 16384 bytes.' } })
  })

  it('that make no sense are refused', async () => {
    const { wire } = await open()
    for (const key of ['', 'x'.repeat(256), 'ключ'.normalize()]) {
      const response = await wire.post(request({ message: hello }), { 'idempotency-key': encodeHeader(key) })
      const message = 'Idempotency-Key: expected 1 to 255 printable ASCII characters'
      expect(await refusalOf(response)).toEqual({ status: 200, id: 1, code: -32602, message })
    }
  })
})

/** `fetch` sends headers as Latin-1. */
function encodeHeader(text: string): string {
  return Buffer.from(text).toString('latin1')
}
