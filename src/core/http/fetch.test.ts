import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { describe, expect, it, onTestFinished } from 'vitest'
import { BodyTooLarge, type Exchange, type Incoming } from './exchange.ts'
import { toFetch } from './fetch.ts'

/** Responds with the request as it received it. */
const mirror: Exchange = async (incoming) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    method: incoming.method,
    path: incoming.path,
    query: incoming.query,
    base: incoming.base,
    secure: incoming.secure,
    host: incoming.header('host'),
    custom: incoming.header('x-custom'),
    body: new TextDecoder().decode(await incoming.bytes(100)),
  }),
})

describe('a request', () => {
  it('arrives complete', async () => {
    const response = await toFetch(mirror)(
      new Request('https://agent.example:8443/a%20b?x=1&y', {
        method: 'POST',
        body: 'hällo',
        headers: { 'X-Custom': 'yes' },
      }),
    )
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toEqual({
      method: 'POST',
      path: '/a%20b',
      query: 'x=1&y',
      base: '',
      secure: true,
      host: 'agent.example:8443',
      custom: 'yes',
      body: 'hällo',
    })
  })

  it.each([
    ['/agent', '/'],
    ['/agent/', '/'],
    ['/agent/rpc', '/rpc'],
    ['/agents', '/agents'],
    ['/rpc', '/rpc'],
  ])('to %s has the path %s below the base /agent', async (target, path) => {
    const response = await toFetch(mirror, { base: '/agent' })(new Request(`http://localhost${target}`))
    expect(await response.json()).toMatchObject({ base: '/agent', path, body: '' })
  })
})

describe('a body limit', () => {
  const read: Exchange = async (incoming) => {
    try {
      return { status: 200, headers: {}, body: `${(await incoming.bytes(10)).length}` }
    } catch (error) {
      return { status: error instanceof BodyTooLarge ? 413 : 500, headers: {} }
    }
  }

  it('a body limit accepts a body of its length and rejects a longer one', async () => {
    const post = (body: string) => toFetch(read)(new Request('http://localhost/', { method: 'POST', body }))
    expect(await (await post('x'.repeat(10))).text()).toBe('10')
    expect((await post('x'.repeat(11))).status).toBe(413)
  })

  it('a body limit rejects a declared length beyond it without reading', async () => {
    let pulled = false
    const pull = () => {
      pulled = true
    }
    const body = new ReadableStream({ pull }, { highWaterMark: 0 })
    const headers = { 'content-length': '11' }
    const request = new Request('http://localhost/', { method: 'POST', body, headers, duplex: 'half' } as RequestInit)
    expect((await toFetch(read)(request)).status).toBe(413)
    expect(pulled).toBe(false)
  })

  it('a body limit stops reading an endless body as soon as it is too long', async () => {
    let pulls = 0
    let isCanceled = false
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulls++
        controller.enqueue(new Uint8Array(4))
      },
      cancel() {
        isCanceled = true
      },
    })
    const request = new Request('http://localhost/', { method: 'POST', body, duplex: 'half' } as RequestInit)
    expect((await toFetch(read)(request)).status).toBe(413)
    expect(pulls).toBeLessThan(6)
    expect(isCanceled).toBe(true)
  })
})

describe('a stream', () => {
  function createStream() {
    const state = { pulled: 0, isReleased: false, signal: undefined as AbortSignal | undefined }
    async function* body() {
      try {
        for (;;) yield `${++state.pulled};`
      } finally {
        state.isReleased = true
      }
    }
    const exchange: Exchange = async ({ signal }: Incoming) => {
      state.signal = signal
      return { status: 200, headers: { 'content-type': 'text/event-stream' }, body: body() }
    }
    return { state, exchange }
  }

  it('a stream is pulled only as it is read', async () => {
    const { state, exchange } = createStream()
    const response = await toFetch(exchange)(new Request('http://localhost/'))
    expect(state.pulled).toBe(0)
    const reader = response.body?.getReader()
    expect(new TextDecoder().decode((await reader?.read())?.value)).toBe('1;')
    expect(state.pulled).toBe(1)
  })

  it('a stream is released, and its signal aborted, when the reader cancels', async () => {
    const { state, exchange } = createStream()
    const response = await toFetch(exchange)(new Request('http://localhost/'))
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    expect(state.isReleased).toBe(true)
    expect(state.signal?.aborted).toBe(true)
  })

  it('a stream is not started for HEAD', async () => {
    const { state, exchange } = createStream()
    const response = await toFetch(exchange)(new Request('http://localhost/', { method: 'HEAD' }))
    expect(response.headers.get('content-type')).toBe('text/event-stream')
    expect(response.body).toBeNull()
    expect(state.pulled).toBe(0)
    expect(state.signal?.aborted).toBe(true)
  })

  it('that fails is reported, and the caller sees no detail', async () => {
    const reported: unknown[] = []
    async function* body() {
      yield 'a'
      throw new Error('secret')
    }
    const handler = toFetch(async () => ({ status: 200, headers: {}, body: body() }), {
      onError: (error) => reported.push(error),
    })
    const response = await handler(new Request('http://localhost/'))
    await expect(response.text()).rejects.toThrow('the stream broke off')
    expect(reported).toEqual([new Error('secret')])
  })
})

it('the signal of the request aborts the signal of the exchange', async () => {
  const controller = new AbortController()
  const handler = toFetch(async ({ signal }) => {
    controller.abort()
    return { status: 200, headers: {}, body: `${signal.aborted}` }
  })
  const response = await handler(new Request('http://localhost/', { signal: controller.signal }))
  expect(await response.text()).toBe('true')
})

it('a response without a body may have a status that allows none', async () => {
  const response = await toFetch(async () => ({ status: 304, headers: { etag: '"a"' } }))(
    new Request('http://localhost/'),
  )
  expect(response.status).toBe(304)
  expect(await response.text()).toBe('')
})

it('an exchange that throws yields a bare 500', async () => {
  const exchange: Exchange = async () => {
    throw new Error('secret')
  }
  const response = await toFetch(exchange, { onError: () => {} })(new Request('http://localhost/'))
  expect(response.status).toBe(500)
  expect(await response.text()).toBe('{"error":"internal error"}')
})

it('a stream served by Hono releases its source when the caller disconnects', async () => {
  const source = { signal: undefined as AbortSignal | undefined, isReleased: false }
  async function* body() {
    try {
      for (;;) {
        yield 'tick'
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    } finally {
      source.isReleased = true
    }
  }
  const exchange: Exchange = async ({ signal }) => {
    source.signal = signal
    return { status: 200, headers: {}, body: body() }
  }
  const server = serve({ fetch: new Hono().mount('/', toFetch(exchange)).fetch, port: 0, hostname: '127.0.0.1' })
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const reader = response.body?.getReader()
  expect(new TextDecoder().decode((await reader?.read())?.value)).toMatch(/^tick/)
  await reader?.cancel()
  await expect.poll(() => source).toMatchObject({ isReleased: true, signal: { aborted: true } })
})

it('a handler mounts into Hono in one line', async () => {
  const routed = new Hono().all('/agent/*', (context) => toFetch(mirror, { base: '/agent' })(context.req.raw))
  const mounted = new Hono().mount('/agent', toFetch(mirror, { base: '/agent' }))
  for (const app of [routed, mounted]) {
    const response = await app.request('/agent/rpc?x=1', { method: 'POST', body: 'hello' })
    expect(await response.json()).toMatchObject({ base: '/agent', path: '/rpc', query: 'x=1', body: 'hello' })
  }
})
