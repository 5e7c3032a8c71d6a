import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { ReadableStream } from 'node:stream/web'
import express from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Exchange, Outgoing } from '../http/exchange.ts'
import { toListener } from './listener.ts'

/** Responds with the request as the exchange sees it. */
const mirror: Exchange = async (incoming) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    method: incoming.method,
    path: incoming.path,
    query: incoming.query,
    base: incoming.base,
    secure: incoming.secure,
    custom: incoming.header('x-custom'),
    body: new TextDecoder().decode(await incoming.bytes(1000)),
  }),
})

async function serve(listener: RequestListener): Promise<{ readonly url: string; readonly port: number }> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port }
}

/** Sends a request byte for byte, and reads until the server closes. */
function exchangeRaw(port: number, request: string): Promise<string> {
  return text(connect(port, '127.0.0.1').setEncoding('utf8').end(request))
}

const respondWith = (outgoing: Outgoing) => toListener(async () => outgoing)

describe('an incoming request', () => {
  test('a request reaches the exchange with method, path, query, headers and body', async () => {
    const { url } = await serve(toListener(mirror))
    const headers = { 'X-Custom': 'yes' }
    const response = await fetch(`${url}/a%20b?x=1&y`, { method: 'POST', body: 'hällo', headers })
    expect(await response.json()).toEqual({
      method: 'POST',
      path: '/a%20b',
      query: 'x=1&y',
      base: '',
      secure: false,
      custom: 'yes',
      body: 'hällo',
    })
  })

  test('a request without a body has an empty one', async () => {
    const { url } = await serve(toListener(mirror))
    expect(await (await fetch(url)).json()).toMatchObject({ method: 'GET', path: '/', query: '', body: '' })
  })

  test('a body in several chunks is joined', async () => {
    const { url } = await serve(toListener(mirror))
    const body = ReadableStream.from(['one ', 'two ', 'three'].map((piece) => new TextEncoder().encode(piece)))
    const response = await fetch(url, { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect(await response.json()).toMatchObject({ body: 'one two three' })
  })

  test.each([
    ['http://agent.example/a?x', '/a', 'x'],
    ['http://agent.example', '/', ''],
    ['http://agent.example?x', '/', 'x'],
    ['*', '/*', ''],
  ])('a request with the target %s has the path %s', async (target, path, query) => {
    const { port } = await serve(toListener(mirror))
    const answer = await exchangeRaw(port, `OPTIONS ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ path, query })
  })
})

describe('an outgoing response', () => {
  test('a response has its length in bytes', async () => {
    const { url } = await serve(respondWith({ status: 201, headers: { 'x-custom': 'yes' }, body: 'hällo' }))
    const response = await fetch(url)
    expect(response.status).toBe(201)
    expect(response.headers.get('content-length')).toBe('6')
    expect(response.headers.get('x-custom')).toBe('yes')
    expect(await response.text()).toBe('hällo')
  })

  test('a response to HEAD has the length of its body but no body', async () => {
    const { port } = await serve(respondWith({ status: 200, headers: {}, body: 'hello' }))
    const answer = await exchangeRaw(port, 'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/content-length: 5\r\n/)
    expect(answer).toMatch(/\r\n\r\n$/)
  })

  test('a response without a body has the length 0, unless its status forbids one', async () => {
    const empty = await serve(respondWith({ status: 200, headers: {} }))
    expect((await fetch(empty.url)).headers.get('content-length')).toBe('0')
    const unchanged = await serve(respondWith({ status: 304, headers: { etag: '"a"' } }))
    const response = await fetch(unchanged.url)
    expect([response.status, response.headers.get('content-length')]).toEqual([304, null])
  })
})

test('an unread small body does not close the connection', async () => {
  const { port } = await serve(respondWith({ status: 404, headers: {}, body: '' }))
  const post = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello'
  const answers = await exchangeRaw(port, post + post)
  expect(answers.match(/HTTP\/1.1 404/g)).toHaveLength(2)
})

describe('an unexpected error', () => {
  async function serveReporting(exchange: Exchange) {
    const reported: unknown[] = []
    const server = await serve(toListener(exchange, { onError: (error) => reported.push(error) }))
    return { ...server, reported }
  }

  test('an error in the exchange becomes a bare 500', async () => {
    const { url, reported } = await serveReporting(async () => {
      throw new Error('secret')
    })
    const response = await fetch(url)
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('{"error":"internal error"}')
    expect(reported).toEqual([new Error('secret')])
  })

  test('an invalid header becomes a bare 500', async () => {
    const { url, reported } = await serveReporting(async () => ({
      status: 200,
      headers: { 'x-bad': 'a\nb' },
      body: '',
    }))
    expect((await fetch(url)).status).toBe(500)
    expect(reported).toHaveLength(1)
  })

  test('an error in a stream breaks the response off, so that it does not seem complete', async () => {
    async function* body() {
      yield 'a'
      throw new Error('secret')
    }
    const { port, reported } = await serveReporting(async () => ({ status: 200, headers: {}, body: body() }))
    const answer = await exchangeRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    expect(answer).toMatch(/1\r\na\r\n$/)
    expect(reported).toEqual([new Error('secret')])
  })
})

describe('a listener in Express', () => {
  const post = (url: string, body: string, type = 'application/json') =>
    fetch(`${url}/agent/rpc?x=1`, { method: 'POST', body, headers: { 'content-type': type } })

  test('a listener mounts at a path', async () => {
    const { url } = await serve(express().use('/agent', toListener(mirror)))
    const response = await post(url, '{"a":1}')
    expect(await response.json()).toMatchObject({ base: '/agent', path: '/rpc', query: 'x=1', body: '{"a":1}' })
    expect(await (await fetch(`${url}/agent?x=1`)).json()).toMatchObject({ base: '/agent', path: '/', query: 'x=1' })
  })

  test.each([
    ['json', express.json(), 'application/json'],
    ['text', express.text({ type: '*/*' }), 'application/json'],
    ['raw', express.raw({ type: '*/*' }), 'application/json'],
    ['json (for a body that is not JSON)', express.json(), 'text/plain'],
  ])('a listener reads a body that the %s parser has consumed', async (_, parser, type) => {
    const { url } = await serve(express().use(parser).use('/agent', toListener(mirror)))
    expect(await (await post(url, '{"a":1}', type)).json()).toMatchObject({ body: '{"a":1}' })
  })

  test('the limit applies to a parsed body', async () => {
    const { url } = await serve(express().use(express.json(), toListener(mirror)))
    expect((await post(url, JSON.stringify({ text: 'x'.repeat(1000) }))).status).toBe(413)
  })
})
