import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { eventStream, sseHeaders } from '../http/sse-writer.ts'
import { listen } from './listen.ts'

interface ObservedStream {
  readonly exchange: Exchange
  pulled: number
  isReleased: boolean
  signal: AbortSignal | undefined
}

/** An exchange that streams from a source, and records what happens to it. */
function observe(source: () => AsyncGenerator<string>): ObservedStream {
  const observed: ObservedStream = {
    pulled: 0,
    isReleased: false,
    signal: undefined,
    exchange: async ({ signal }) => {
      observed.signal = signal
      return { status: 200, headers: sseHeaders, body: body() }
    },
  }
  async function* body() {
    try {
      for await (const item of source()) {
        observed.pulled += item.length
        yield item
      }
    } finally {
      observed.isReleased = true
    }
  }
  return observed
}

async function serve(exchange: Exchange): Promise<string> {
  const { url, close } = await listen(exchange, { port: 0 })
  onTestFinished(() => close({ deadline: 0 }))
  return url
}

/** Sends a request and reads nothing. */
async function request(url: string, method = 'GET'): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  await once(socket, 'connect')
  socket.write(`${method} / HTTP/1.1\r\nHost: a\r\n\r\n`)
  return socket
}

async function* megabytes(count: number) {
  for (let item = 0; item < count * 20; item++) yield 'x'.repeat(50_000)
}

async function* silent() {
  yield 'first'
  await new Promise(() => {})
}

/** Not a generator, which would handle `return` only after its next item. */
function createSilentSource() {
  const source = {
    isReleased: false,
    next: () => new Promise<IteratorResult<string>>(() => {}),
    async return(): Promise<IteratorResult<string>> {
      source.isReleased = true
      return { done: true, value: undefined }
    },
    [Symbol.asyncIterator]: () => source,
  }
  return source
}

test('a stream longer than all buffers arrives completely', async () => {
  const { exchange } = observe(() => megabytes(20))
  const response = await fetch(await serve(exchange))
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  let length = 0
  for await (const chunk of response.body ?? []) length += chunk.length
  expect(length).toBe(20_000_000)
})

test('the server pulls little from the source while the caller does not read', async () => {
  const observed = observe(() => megabytes(200))
  const before = process.memoryUsage().rss
  await request(await serve(observed.exchange))
  await sleep(300)
  const settled = observed.pulled
  await sleep(200)
  expect(observed.pulled).toBe(settled)
  expect(observed.pulled).toBeLessThan(20_000_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000)
})

test('the headers are sent before the first item exists', async () => {
  const { exchange } = observe(async function* () {
    await new Promise(() => {})
    yield 'never'
  })
  expect((await fetch(await serve(exchange))).status).toBe(200)
})

test('a caller that disconnects without reading releases the source', async () => {
  const observed = observe(() => megabytes(200))
  const socket = await request(await serve(observed.exchange))
  await sleep(100)
  expect(observed.isReleased).toBe(false)
  socket.destroy()
  await expect.poll(() => observed.isReleased).toBe(true)
  expect(observed.signal?.aborted).toBe(true)
})

test('a caller that disconnects from a silent event stream releases its source', async () => {
  const source = createSilentSource()
  const exchange: Exchange = async ({ signal }) => {
    return { status: 200, headers: sseHeaders, body: eventStream(source, { heartbeat: 10_000, signal }) }
  }
  const socket = await request(await serve(exchange))
  await sleep(50)
  expect(source.isReleased).toBe(false)
  socket.destroy()
  await expect.poll(() => source.isReleased).toBe(true)
})

test('the source is released if the caller disconnected before the response started', async () => {
  const source = createSilentSource()
  const exchange: Exchange = async ({ signal }) => {
    await once(signal, 'abort')
    return { status: 200, headers: sseHeaders, body: source }
  }
  const socket = await request(await serve(exchange))
  await sleep(20)
  socket.destroy()
  await expect.poll(() => source.isReleased).toBe(true)
})

test('HEAD returns the headers and reads nothing from the source', async () => {
  const observed = observe(silent)
  const response = await fetch(await serve(observed.exchange), { method: 'HEAD' })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(observed.pulled).toBe(0)
})

test('a connection can be reused after a stream has finished', async () => {
  const { exchange } = observe(async function* () {
    yield 'a'
  })
  const socket = (await request(await serve(exchange))).setEncoding('utf8')
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  await expect.poll(() => received).toMatch(/0\r\n\r\n$/)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => received.match(/HTTP\/1.1 200/g)).toHaveLength(2)
})

test('a thousand callers that disconnect leave nothing open', async () => {
  let open = 0
  const url = await serve(async ({ signal }) => {
    open++
    signal.addEventListener('abort', () => open--)
    return { status: 200, headers: sseHeaders, body: eventStream(silent(), { heartbeat: 10_000, signal }) }
  })
  for (let batch = 0; batch < 10; batch++) {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => request(url)))
    await Promise.all(sockets.map((socket) => once(socket, 'readable')))
    for (const socket of sockets) socket.destroy()
  }
  await expect.poll(() => open).toBe(0)
})
