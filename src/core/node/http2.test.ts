import { once } from 'node:events'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Exchange } from '../http/exchange.ts'
import type { GrpcExchange } from '../transports/grpc/rpc.ts'
import { type ListenOptions, listen } from './listen.ts'

const hello: Exchange = async ({ path }) => ({ status: 200, headers: {}, body: `hello ${path}` })
const never = () => new Promise<never>(() => {})
const refuse: GrpcExchange = async () => ({ headers: {}, trailers: { 'grpc-status': '12' } })

async function serve(exchange: Exchange = hello, options: Partial<ListenOptions> = {}) {
  const listening = await listen(exchange, { port: 0, grpc: refuse, ...options })
  onTestFinished(() => listening.close({ deadline: 0 }))
  return listening
}

async function open(port: number, bytes: string | Buffer = ''): Promise<Socket & { received: string }> {
  const socket = Object.assign(connect(port, '127.0.0.1').setEncoding('latin1').setNoDelay(), { received: '' })
  onTestFinished(() => void socket.destroy())
  socket.on('data', (data) => {
    socket.received += data
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(bytes)
  return socket
}

function openHttp2(url: string): ClientHttp2Session {
  const session = connectHttp2(url)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return session
}

async function get(session: ClientHttp2Session, path: string): Promise<string> {
  let text = ''
  for await (const chunk of session.request({ ':path': path }).setEncoding('utf8')) text += chunk
  return text
}

async function timed(run: () => Promise<unknown>): Promise<number> {
  const start = performance.now()
  await run()
  return performance.now() - start
}

const GET = 'GET /one HTTP/1.1\r\nHost: a\r\n\r\n'
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const settings = Buffer.from('000000040000000000', 'hex')
/** A HEADERS frame: GET / */
const headers = Buffer.from('000006010500000001828684010161', 'hex')

/** POST / with a body that has not ended, and RST_STREAM with CANCEL. */
const post = Buffer.from('000006010400000001838684010161', 'hex')
const data = Buffer.from('000003000000000001616263', 'hex')
const reset = Buffer.from('00000403000000000100000008', 'hex')

describe('the protocol of a connection', () => {
  test('the first bytes select HTTP/1.1 or HTTP/2', async () => {
    const { url, port } = await serve()
    expect(await (await fetch(`${url}/one`)).text()).toBe('hello /one')
    expect(await get(openHttp2(url), '/two')).toBe('hello /two')
    const socket = await open(port, GET + GET)
    await expect.poll(() => socket.received.match(/hello \/one/g)).toHaveLength(2)
  })

  test('the protocol is detected if the bytes arrive one by one', async () => {
    const { port } = await serve()
    const http1 = await open(port)
    for (const byte of 'POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n') {
      http1.write(byte)
      await sleep(1)
    }
    await expect.poll(() => http1.received).toMatch(/hello \/p$/)
    const http2 = await open(port)
    for (const byte of preface) {
      http2.write(byte)
      await sleep(1)
    }
    http2.write(Buffer.concat([settings, headers]))
    await expect.poll(() => http2.received).toContain('hello /')
  })

  test('a connection that does not show its protocol in time is closed', async () => {
    const { port } = await serve(hello, { requestTimeout: 100 })
    const connections = await Promise.all(['', 'P', 'PRI * HTTP'].map((bytes) => open(port, bytes)))
    await Promise.all(connections.map((socket) => once(socket, 'close')))
    expect(connections.map(({ received }) => received)).toEqual(['', '', ''])
  })

  test('a connection with garbage is closed and affects no other', async () => {
    const { url, port } = await serve()
    const garbage = await open(port, `${preface}garbage instead of an HTTP/2 frame`)
    await once(garbage, 'close')
    const gone = await open(port, 'PR')
    gone.end()
    await once(gone, 'close')
    expect(await get(openHttp2(url), '/')).toBe('hello /')
  })

  test('a server without gRPC speaks only HTTP/1.1', async () => {
    const { url } = await serve(hello, { grpc: undefined })
    const session = openHttp2(url)
    const [error] = await once(session, 'error')
    expect(error.code).toMatch(/^ERR_HTTP2|ECONNRESET/)
  })
})

describe('an HTTP/2 connection', () => {
  test('an idle connection is closed after keepAliveTimeout and not before', async () => {
    const { url } = await serve(hello, { keepAliveTimeout: 300 })
    const session = openHttp2(url)
    const closed = once(session, 'close')
    await sleep(200)
    expect(await get(session, '/')).toBe('hello /')
    const idle = await timed(() => closed)
    expect(idle).toBeGreaterThan(250)
    expect(idle).toBeLessThan(1_000)
  })

  test('a connection with an open stream stays while its peer acknowledges pings', async () => {
    const { url } = await serve(never, { keepAliveTimeout: 50 })
    const session = openHttp2(url)
    session.request({ ':path': '/' }).on('error', () => {})
    await sleep(300)
    expect(session.closed).toBe(false)
  })

  test('a connection is cut when its peer does not acknowledge a ping', async () => {
    const { port } = await serve(never, { keepAliveTimeout: 100 })
    const silent = await open(port, Buffer.concat([Buffer.from(preface), settings, headers]))
    expect(await timed(() => once(silent, 'close'))).toBeLessThan(1_000)
  })

  test('an incomplete request is cancelled after requestTimeout', async () => {
    const read: Exchange = async (incoming) => ({ status: 200, headers: {}, body: `${await incoming.bytes(100)}` })
    const { url } = await serve(read, { requestTimeout: 100 })
    const stream = openHttp2(url).request({ ':method': 'POST', ':path': '/' })
    stream.on('error', () => {})
    stream.write('begun')
    await once(stream, 'close')
    expect(stream.rstCode).toBe(8)
  })

  test('the signal of a request aborts when its caller cancels, and only then', async () => {
    const signals: AbortSignal[] = []
    const { url } = await serve(async ({ path, signal }) => {
      signals.push(signal)
      if (path === '/left') await new Promise((resolve) => signal.addEventListener('abort', resolve))
      return { status: 200, headers: {}, body: 'done' }
    })
    const session = openHttp2(url)
    expect(await get(session, '/stays')).toBe('done')
    const stream = session.request({ ':path': '/left' })
    await expect.poll(() => signals).toHaveLength(2)
    stream.close(8)
    await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })

  test('a body over the limit is rejected without being read to its end', async () => {
    const read: Exchange = async (incoming) => ({
      status: 200,
      headers: {},
      body: `${(await incoming.bytes(100)).length}`,
    })
    const { url } = await serve(read)
    const session = openHttp2(url)
    const stream = session.request({ ':method': 'POST', ':path': '/' })
    stream.on('error', () => {})
    stream.end(Buffer.alloc(5_000_000))
    const [response] = await once(stream, 'response')
    expect(response[':status']).toBe(413)
    expect(await get(session, '/')).toBe('0')
  })

  test.each([
    ['at once', [[]]],
    ['in one piece', [['abc']]],
    ['in several frames', [['ab', 'c', 'def']]],
    ['piece by piece', [['a'], ['bc'], ['d']]],
    ['after the headers', [[], ['ab', 'c']]],
    ['before its end', [['ab'], []]],
  ])('a body that arrives %s is read completely', async (_, groups) => {
    const read: Exchange = async (incoming) => ({ status: 200, headers: {}, body: `<${await incoming.bytes(100)}>` })
    const { url } = await serve(read)
    const stream = openHttp2(url).request({ ':method': 'POST', ':path': '/' })
    stream.setEncoding('utf8')
    for (const [n, pieces] of groups.entries()) {
      if (n > 0) await sleep(20)
      for (const piece of pieces) stream.write(piece)
    }
    stream.end()
    expect((await stream.toArray()).join('')).toBe(`<${groups.flat().join('')}>`)
  })

  test.each([0, 20])('a body that its caller breaks off after %i ms is not taken for complete', async (wait) => {
    const bodies: string[] = []
    const read: Exchange = async (incoming) => {
      bodies.push(await incoming.bytes(100).then(String, (error: Error) => error.message))
      return { status: 200, headers: {} }
    }
    const { port } = await serve(read)
    const socket = await open(port, preface)
    socket.write(Buffer.concat([settings, post, data]))
    if (wait > 0) await sleep(wait)
    socket.write(reset)
    await expect.poll(() => bodies, { timeout: 1_000 }).toEqual(['the caller left before its body had come'])
  })

  test('a stream whose source fails is broken off and reported', async () => {
    const errors: unknown[] = []
    async function* source() {
      yield 'one'
      throw new Error('the source failed')
    }
    const { url } = await serve(async () => ({ status: 200, headers: {}, body: source() }), {
      onError: (error) => errors.push(error),
    })
    const stream = openHttp2(url).request({ ':path': '/' })
    stream.on('error', () => {})
    stream.resume()
    await expect.poll(() => stream.destroyed).toBe(true)
    expect(stream.rstCode).toBe(2)
    expect(errors).toEqual([new Error('the source failed')])
  })

  test('a stream pulls no more than its reader takes, and releases its source on cancel', async () => {
    let pulled = 0
    let released = false
    async function* source() {
      try {
        for (;;) {
          pulled++
          yield 'x'.repeat(10_000)
          await sleep(0)
        }
      } finally {
        released = true
      }
    }
    const { url } = await serve(async () => ({ status: 200, headers: {}, body: source() }))
    const stream = openHttp2(url).request({ ':path': '/' })
    await once(stream, 'response')
    await sleep(200)
    const before = pulled
    expect(before).toBeLessThan(50)
    await sleep(100)
    expect(pulled).toBe(before)
    stream.close(8)
    await expect.poll(() => released).toBe(true)
  })
})

describe('closing a shared port', () => {
  test('closing ends idle, unused and undetected connections at once', async () => {
    const { url, port, close } = await serve()
    const session = openHttp2(url)
    expect(await get(session, '/')).toBe('hello /')
    const others = await Promise.all(['', 'PRI'].map((bytes) => open(port, bytes)))
    await sleep(20)
    const ended = Promise.all([once(session, 'close'), ...others.map((socket) => once(socket, 'close'))])
    expect(await timed(() => close({ deadline: 5_000 }))).toBeLessThan(1_000)
    await ended
  })

  test('closing lets running HTTP/2 requests finish', async () => {
    const released = Promise.withResolvers<void>()
    const { url, close } = await serve(async () => {
      await released.promise
      return { status: 200, headers: {}, body: 'late' }
    })
    const answer = get(openHttp2(url), '/')
    await sleep(50)
    const closed = close({ deadline: 5_000 })
    await sleep(50)
    released.resolve()
    expect(await answer).toBe('late')
    expect(await timed(() => closed)).toBeLessThan(1_000)
  })

  test('closing cuts off unfinished HTTP/2 requests at the deadline', async () => {
    const { url, port, close } = await serve(never)
    const session = openHttp2(url)
    session.request({ ':path': '/' }).on('error', () => {})
    const unresponsive = await open(port, Buffer.concat([Buffer.from(preface), settings, headers]))
    await sleep(50)
    const ended = Promise.all([once(session, 'close'), once(unresponsive, 'close')])
    const duration = await timed(() => close({ deadline: 100 }))
    expect(duration).toBeGreaterThan(90)
    expect(duration).toBeLessThan(1_000)
    await ended
  })
})
