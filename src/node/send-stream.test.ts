import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import { eventStream, sseHeaders } from '../http/sse-writer.ts'
import { listen } from './listen.ts'

interface Watched {
  readonly exchange: Exchange
  pulled: number
  isReleased: boolean
  signal: AbortSignal | undefined
}

/** Streams from a source, and notes what becomes of it. */
function watch(source: () => AsyncGenerator<string>): Watched {
  const watched: Watched = {
    pulled: 0,
    isReleased: false,
    signal: undefined,
    exchange: async ({ signal }) => {
      watched.signal = signal
      return { status: 200, headers: sseHeaders, body: body() }
    },
  }
  async function* body() {
    try {
      for await (const item of source()) {
        watched.pulled += item.length
        yield item
      }
    } finally {
      watched.isReleased = true
    }
  }
  return watched
}

async function serve(exchange: Exchange): Promise<string> {
  const { url, close } = await listen(exchange, { port: 0 })
  onTestFinished(() => close({ deadline: 0 }))
  return url
}

/** A caller that reads nothing. */
async function ask(url: string, method = 'GET'): Promise<Socket> {
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

/** Not a generator, which would see its release only after its next item. */
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

test('a stream arrives whole, although it is longer than all buffers on its way', async () => {
  const { exchange } = watch(() => megabytes(20))
  const response = await fetch(await serve(exchange))
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  let length = 0
  for await (const chunk of response.body ?? []) length += chunk.length
  expect(length).toBe(20_000_000)
})

test('from the source of a caller that does not read, little is pulled', async () => {
  const watched = watch(() => megabytes(200))
  const before = process.memoryUsage().rss
  await ask(await serve(watched.exchange))
  await sleep(300)
  const settled = watched.pulled
  await sleep(200)
  expect(watched.pulled).toBe(settled)
  expect(watched.pulled).toBeLessThan(20_000_000)
  expect(process.memoryUsage().rss - before).toBeLessThan(40_000_000)
})

test('the headers are sent before the first item is there', async () => {
  const { exchange } = watch(async function* () {
    await new Promise(() => {})
    yield 'never'
  })
  expect((await fetch(await serve(exchange))).status).toBe(200)
})

test('a caller that leaves while it does not read releases the source', async () => {
  const watched = watch(() => megabytes(200))
  const socket = await ask(await serve(watched.exchange))
  await sleep(100)
  expect(watched.isReleased).toBe(false)
  socket.destroy()
  await expect.poll(() => watched.isReleased).toBe(true)
  expect(watched.signal?.aborted).toBe(true)
})

test('a caller that leaves a silent stream of events releases its source', async () => {
  const source = createSilentSource()
  const exchange: Exchange = async ({ signal }) => {
    return { status: 200, headers: sseHeaders, body: eventStream(source, { heartbeat: 10_000, signal }) }
  }
  const socket = await ask(await serve(exchange))
  await sleep(50)
  expect(source.isReleased).toBe(false)
  socket.destroy()
  await expect.poll(() => source.isReleased).toBe(true)
})

test('the source of an answer that nobody waits for any more is released', async () => {
  const source = createSilentSource()
  const exchange: Exchange = async ({ signal }) => {
    await once(signal, 'abort')
    return { status: 200, headers: sseHeaders, body: source }
  }
  const socket = await ask(await serve(exchange))
  await sleep(20)
  socket.destroy()
  await expect.poll(() => source.isReleased).toBe(true)
})

test('HEAD gets the headers and releases the source unread', async () => {
  const watched = watch(silent)
  const response = await fetch(await serve(watched.exchange), { method: 'HEAD' })
  expect(response.headers.get('content-type')).toBe('text/event-stream')
  expect(watched.pulled).toBe(0)
})

test('a finished stream leaves its connection to the next request', async () => {
  const { exchange } = watch(async function* () {
    yield 'a'
  })
  const socket = (await ask(await serve(exchange))).setEncoding('utf8')
  let received = ''
  socket.on('data', (data) => {
    received += data
  })
  await expect.poll(() => received).toMatch(/0\r\n\r\n$/)
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  await expect.poll(() => received.match(/HTTP\/1.1 200/g)).toHaveLength(2)
})

test('of a thousand callers that leave, nothing stays', async () => {
  let open = 0
  const url = await serve(async ({ signal }) => {
    open++
    signal.addEventListener('abort', () => open--)
    return { status: 200, headers: sseHeaders, body: eventStream(silent(), { heartbeat: 10_000, signal }) }
  })
  for (let batch = 0; batch < 10; batch++) {
    const sockets = await Promise.all(Array.from({ length: 100 }, () => ask(url)))
    await Promise.all(sockets.map((socket) => once(socket, 'readable')))
    for (const socket of sockets) socket.destroy()
  }
  await expect.poll(() => open).toBe(0)
})
