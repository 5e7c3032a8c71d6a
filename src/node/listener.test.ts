import { createServer, type RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { ReadableStream } from 'node:stream/web'
import express from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Exchange, Outgoing } from '../http/exchange.ts'
import { toListener } from './listener.ts'

/** Answers with what it understood. */
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

/** Sends a request as it is written, and reads until the server closes. */
function exchangeRaw(port: number, request: string): Promise<string> {
  return text(connect(port, '127.0.0.1').setEncoding('utf8').end(request))
}

const answering = (outgoing: Outgoing) => toListener(async () => outgoing)

describe('the request', () => {
  test('arrives whole', async () => {
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

  test('without a body has an empty one', async () => {
    const { url } = await serve(toListener(mirror))
    expect(await (await fetch(url)).json()).toMatchObject({ method: 'GET', path: '/', query: '', body: '' })
  })

  test('with a body in many pieces has one body', async () => {
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
  ])('for the target %s has the path %s', async (target, path, query) => {
    const { port } = await serve(toListener(mirror))
    const answer = await exchangeRaw(port, `OPTIONS ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`)
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toMatchObject({ path, query })
  })
})

describe('the answer', () => {
  test('has its length in bytes', async () => {
    const { url } = await serve(answering({ status: 201, headers: { 'x-custom': 'yes' }, body: 'hällo' }))
    const response = await fetch(url)
    expect(response.status).toBe(201)
    expect(response.headers.get('content-length')).toBe('6')
    expect(response.headers.get('x-custom')).toBe('yes')
    expect(await response.text()).toBe('hällo')
  })

  test('to HEAD has the length of its body but not the body', async () => {
    const { port } = await serve(answering({ status: 200, headers: {}, body: 'hello' }))
    const answer = await exchangeRaw(port, 'HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
    expect(answer).toMatch(/content-length: 5\r\n/)
    expect(answer).toMatch(/\r\n\r\n$/)
  })

  test('without a body has the length 0, unless its status allows none', async () => {
    const empty = await serve(answering({ status: 200, headers: {} }))
    expect((await fetch(empty.url)).headers.get('content-length')).toBe('0')
    const unchanged = await serve(answering({ status: 304, headers: { etag: '"a"' } }))
    const response = await fetch(unchanged.url)
    expect([response.status, response.headers.get('content-length')]).toEqual([304, null])
  })
})

test('a small body that nobody read does not cost the connection', async () => {
  const { port } = await serve(answering({ status: 404, headers: {}, body: '' }))
  const post = 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello'
  const answers = await exchangeRaw(port, post + post)
  expect(answers.match(/HTTP\/1.1 404/g)).toHaveLength(2)
})

describe('a bug', () => {
  async function serveReporting(exchange: Exchange) {
    const reported: unknown[] = []
    const served = await serve(toListener(exchange, { onError: (error) => reported.push(error) }))
    return { ...served, reported }
  }

  test('in the exchange is a bare 500', async () => {
    const { url, reported } = await serveReporting(async () => {
      throw new Error('secret')
    })
    const response = await fetch(url)
    expect(response.status).toBe(500)
    expect(await response.text()).toBe('{"error":"internal error"}')
    expect(reported).toEqual([new Error('secret')])
  })

  test('in a header is a bare 500', async () => {
    const { url, reported } = await serveReporting(async () => ({
      status: 200,
      headers: { 'x-bad': 'a\nb' },
      body: '',
    }))
    expect((await fetch(url)).status).toBe(500)
    expect(reported).toHaveLength(1)
  })

  test('in a stream breaks it off, so that nobody takes it for complete', async () => {
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

describe('in Express', () => {
  const post = (url: string, body: string, type = 'application/json') =>
    fetch(`${url}/agent/rpc?x=1`, { method: 'POST', body, headers: { 'content-type': type } })

  test('it mounts below a path in a line', async () => {
    const { url } = await serve(express().use('/agent', toListener(mirror)))
    const response = await post(url, '{"a":1}')
    expect(await response.json()).toMatchObject({ base: '/agent', path: '/rpc', query: 'x=1', body: '{"a":1}' })
    expect(await (await fetch(`${url}/agent?x=1`)).json()).toMatchObject({ base: '/agent', path: '/', query: 'x=1' })
  })

  test.each([
    ['json', express.json(), 'application/json'],
    ['text', express.text({ type: '*/*' }), 'application/json'],
    ['raw', express.raw({ type: '*/*' }), 'application/json'],
    ['json, which passes on what is not JSON,', express.json(), 'text/plain'],
  ])('it reads a body that a parser of %s had before it', async (_, parser, type) => {
    const { url } = await serve(express().use(parser).use('/agent', toListener(mirror)))
    expect(await (await post(url, '{"a":1}', type)).json()).toMatchObject({ body: '{"a":1}' })
  })

  test('a parsed body keeps to the limit', async () => {
    const { url } = await serve(express().use(express.json(), toListener(mirror)))
    expect((await post(url, JSON.stringify({ text: 'x'.repeat(1000) }))).status).toBe(413)
  })
})
