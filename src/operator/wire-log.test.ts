import { describe, expect, it } from 'vitest'
import { createWireLog, type SentRequest, toHar } from './wire-log.ts'

const sent: SentRequest = {
  agent: { id: () => 'echo' },
  source: 'client',
  method: 'POST',
  url: 'https://agent.example/rpc',
  headers: { 'content-type': 'application/json' },
  body: '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}',
}

const sse = { 'content-type': 'text/event-stream' }

describe('the wire log', () => {
  it('keeps no credentials of headers, addresses, bodies and answers', () => {
    const log = createWireLog()
    const agent = { id: () => 'echo', redact: (text: string) => text.replaceAll('hunter2', '[redacted]') }
    const open = log.begin({
      ...sent,
      agent,
      url: 'https://agent.example/rpc?api_key=k1&pageToken=p1',
      headers: { Authorization: 'Bearer t1', 'X-Widget': 'hunter2', Cookie: 'c1' },
      body: '{"authentication":{"schemes":["Bearer"],"credentials":"s1"},"token":"s\\"2","text":"my hunter2"}',
    })
    open.answer(200, { 'set-cookie': 'c2' })
    open.chunk('{"access_token":"s3","text":"hello"}')
    open.end()
    const text = JSON.stringify(log.exchange(1))
    for (const secret of ['k1', 't1', 'hunter2', 'c1', 's1', 's\\\\\\"2', 'c2', 's3'])
      expect(text).not.toContain(secret)
    for (const plain of ['pageToken=p1', 'hello', 'Bearer']) expect(text).toContain(plain)
  })

  it('keeps no answer to a sensitive question, and no credentials for a task', () => {
    const log = createWireLog()
    const stream = log.begin(sent)
    stream.answer(200, sse)
    stream.chunk('data: {"statusUpdate":{"taskId":"t-1","status":{"message":{"metadata":{"sensitive": true}}}}}\n\n')
    stream.end()
    log.begin({ ...sent, body: '{"message":{"taskId":"t-1","parts":[{"text":"1234"}]}}' })
    const media = 'application/vnd.a2a.credentials+json'
    log.begin({ ...sent, body: `{"message":{"taskId":"t-2","parts":[{"mediaType":"${media}","data":{"x":"1234"}}]}}` })
    log.begin({ ...sent, body: '{"message":{"taskId":"t-3","parts":[{"text":"5678"}]}}' })
    const bodies = log.exchanges().map(({ request }) => request.body)
    expect(bodies.join()).not.toContain('1234')
    expect(bodies.at(-1)).toContain('5678')
  })

  it('splits events that arrive in pieces, without comments, and reports each change', async () => {
    let time = 1_000
    const log = createWireLog(() => time)
    const open = log.begin({ ...sent, headers: { 'A2A-Version': '1.0', 'content-type': 'application/json' } })
    open.answer(200, sse)
    time = 1_010
    open.chunk(': ping\n\ndata: {"a":')
    open.chunk('1}\n\ndata: {"b":2}\r\n\r\n')
    time = 1_020
    open.end()
    open.end('too late')
    expect(log.exchange(1)).toMatchObject({
      ...{ operation: 'SendMessage', binding: 'JSONRPC', version: '1.0', status: 200, duration: 20, isOpen: false },
      events: [
        { at: 10, text: 'data: {"a":1}' },
        { at: 10, text: 'data: {"b":2}' },
      ],
    })
    expect(log.exchange(1)?.error).toBeUndefined()
    const { rows, at } = await log.changes(0, AbortSignal.timeout(1_000))
    expect(rows).toMatchObject([{ id: 1, eventCount: 2 }])
    const waiting = log.changes(at, AbortSignal.timeout(10_000))
    log.begin(sent)
    expect((await waiting).rows).toMatchObject([{ id: 2, isOpen: true }])
  })

  it('drops the oldest exchanges, and cuts long ones', () => {
    const log = createWireLog()
    for (let count = 0; count < 510; count++) log.begin(sent).end()
    expect([log.rows().length, log.dropped()]).toEqual([500, 10])
    for (let count = 0; count < 80; count++) log.begin({ ...sent, body: 'x'.repeat(300_000) }).end()
    const stream = log.begin(sent)
    stream.answer(200, sse)
    stream.chunk('data: y\n\n'.repeat(3_000))
    stream.end()
    const [last, previous] = log.rows()
    expect(log.rows().length).toBeLessThanOrEqual(65)
    expect([last?.id, last?.eventCount]).toEqual([591, 2_000])
    expect(log.exchange(591)?.answer?.isShortened).toBe(true)
    const { request } = log.exchange(previous?.id ?? 0) ?? {}
    expect([request?.body.length, request?.isShortened]).toEqual([256 * 1024, true])
  })

  it('names a request by its method, its path or its card, and finds it by its content', () => {
    const log = createWireLog()
    log.begin({ ...sent, body: '{"jsonrpc":"2.0","method":"message/send"}' }).end('connection refused')
    log.begin({ ...sent, method: 'GET', url: 'https://agent.example/v1/tasks/7', body: '' })
    log.begin({ ...sent, method: 'GET', url: 'https://agent.example/.well-known/agent-card.json', body: '' })
    expect(log.rows().map(({ operation, binding, version }) => [operation, binding, version])).toEqual([
      ['Agent card', undefined, undefined],
      ['GET /v1/tasks/7', 'REST', undefined],
      ['message/send', 'JSONRPC', '0.x'],
    ])
    expect(log.rows({ search: 'REFUSED' }).map(({ id }) => id)).toEqual([1])
    expect(log.rows({ source: 'wire' })).toEqual([])
    expect(log.rows({ agent: 'other' })).toEqual([])
  })

  it('passes a response on as it is, and ends with it', async () => {
    const log = createWireLog()
    const fetch = log.record(
      async (url) => {
        if (url.endsWith('/broken')) throw new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })
        if (url.endsWith('/empty')) return new Response(null, { status: 204 })
        return new Response('{"ok":true}', { status: 201, headers: { 'content-type': 'application/json' } })
      },
      sent.agent,
      'wire',
    )
    const response = await fetch('https://agent.example/x', { method: 'POST', body: '{}' })
    expect([response.status, await response.json()]).toEqual([201, { ok: true }])
    expect((await fetch('https://agent.example/empty', {})).status).toBe(204)
    await expect(fetch('https://agent.example/broken', {})).rejects.toThrow('fetch failed')
    expect(log.exchanges().map(({ status, error, isOpen }) => [status, error, isOpen])).toEqual([
      [201, undefined, false],
      [204, undefined, false],
      [undefined, 'ECONNREFUSED', false],
    ])
    expect(log.exchange(1)?.answer?.body).toBe('{"ok":true}')
    const { log: archive } = toHar(log.exchanges(), '1') as { log: { entries: readonly object[] } }
    expect(archive.entries).toHaveLength(3)
    expect(archive.entries[0]).toMatchObject({
      request: { method: 'POST', postData: { text: '{}' } },
      response: { status: 201, content: { text: '{"ok":true}' } },
    })
  })
})
