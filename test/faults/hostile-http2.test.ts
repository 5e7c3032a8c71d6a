import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { status } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../support/logger.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'
import { frame, literal } from '../support/wire/raw-http2.ts'

async function open(options: TestServerOptions = {}, run: (text: string) => Promise<string> = async () => 'hi') {
  const received: string[] = []
  const errors: unknown[] = []
  const { server, wire } = await startTestServer(
    async ({ text }) => {
      received.push(text)
      return await run(text)
    },
    { grpc: true, logger: { ...silentLogger, error: (fields) => errors.push(fields) }, ...options },
  )
  return {
    server,
    received,
    /** The next request is served over both HTTP versions, and no error was logged. */
    async expectHealthy() {
      expect((await wire.send('still there?')).message?.parts).toEqual([{ text: 'hi' }])
      const session = client(server.url)
      expect((await answerTo(session.request({ ':path': '/healthz' }))).status).toBe(200)
      expect(errors).toEqual([])
    },
  }
}

function client(url: string): ClientHttp2Session {
  const session = connectHttp2(url)
  session.on('error', () => {})
  onTestFinished(() => session.destroy())
  return session
}

/** Resolves when the stream is closed for any reason. */
function closed(stream: { once(event: 'close', listener: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve))
}

async function answerTo(stream: ClientHttp2Stream) {
  let text = ''
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  stream.on('error', () => {})
  const headers = new Promise<number>((resolve) => {
    stream.once('response', ({ ':status': code = 0 }) => resolve(code))
    stream.once('close', () => resolve(0))
  })
  await closed(stream)
  return { status: await headers, reset: stream.rstCode, text }
}

const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(4, 0, 0)])
const types = { data: 0, headers: 1, reset: 3, settings: 4, ping: 6, windowUpdate: 8, continuation: 9 }
const endHeaders = 4
const endStream = 1

/** A header block without dynamic table entries. */
function block(fields: readonly string[]): Buffer {
  return Buffer.concat(fields.map((field, n) => Buffer.concat([n % 2 ? Buffer.of() : Buffer.of(0), literal(field)])))
}

const get = block([':method', 'GET', ':scheme', 'http', ':path', '/healthz', ':authority', 'localhost'])
const post = block([
  ':method',
  'POST',
  ':scheme',
  'http',
  ':path',
  '/',
  ':authority',
  'localhost',
  'content-type',
  'application/json',
])

interface RawConnection extends Socket {
  /** All received bytes. */
  bytes(): Buffer
  /** Writes all pieces, unless the server closes the connection. */
  flood(pieces: Iterable<Buffer>): Promise<'done' | 'closed'>
}

function dial(port: number): RawConnection {
  const socket = connect(port, '127.0.0.1')
  const chunks: Buffer[] = []
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => {})
  socket.on('data', (chunk) => chunks.push(chunk))
  socket.write(preface)
  return Object.assign(socket, {
    bytes: () => Buffer.concat(chunks),
    async flood(pieces: Iterable<Buffer>) {
      for (const piece of pieces) {
        if (socket.destroyed || socket.readableEnded) return 'closed' as const
        if (socket.write(piece)) continue
        await new Promise((resolve) => socket.once('drain', resolve).once('close', resolve))
      }
      return 'done' as const
    },
  })
}

/** The received frames. */
function framesIn(bytes: Buffer): readonly { readonly type: number; readonly payload: Buffer }[] {
  const frames = []
  for (let at = 0; at + 9 <= bytes.length; ) {
    const end = at + 9 + bytes.readUIntBE(at, 3)
    frames.push({ type: bytes[at + 3] ?? -1, payload: bytes.subarray(at + 9, end) })
    at = end
  }
  return frames
}

const goAway = 7
async function expectClosed(connection: RawConnection): Promise<void> {
  await expect
    .poll(() => connection.destroyed || framesIn(connection.bytes()).some(({ type }) => type === goAway), {
      timeout: 10_000,
    })
    .toBe(true)
}

describe('HTTP/2', () => {
  it('a connection that keeps opening and resetting streams is closed', async () => {
    const { server, received, expectHealthy } = await open()
    const connection = dial(server.port)
    function* resets() {
      for (let stream = 1; stream < 40_000; stream += 2) {
        const cancel = Buffer.from([0, 0, 0, 8])
        yield Buffer.concat([frame(types.headers, endHeaders, stream, post), frame(types.reset, 0, stream, cancel)])
      }
    }
    await connection.flood(resets())
    await expectClosed(connection)
    expect(received).toEqual([])
    await expectHealthy()
  })

  it('an endless header block closes the connection', async () => {
    const { server, expectHealthy } = await open()
    const connection = dial(server.port)
    function* continuations() {
      yield frame(types.headers, endStream, 1, get)
      for (let n = 0; n < 20_000; n++) yield frame(types.continuation, 0, 1, block([`x-${n}`, 'a'.repeat(500)]))
    }
    await connection.flood(continuations())
    await expectClosed(connection)
    await expectHealthy()
  })

  it('endless empty continuations close the connection', async () => {
    const { server, expectHealthy } = await open()
    const connection = dial(server.port)
    function* continuations() {
      yield frame(types.headers, endStream, 1, get)
      for (let n = 0; n < 200_000; n++) yield frame(types.continuation, 0, 1)
    }
    await connection.flood(continuations())
    await expectClosed(connection)
    await expectHealthy()
  })

  it('a header compression bomb is refused', async () => {
    const { server, expectHealthy } = await open()
    const connection = dial(server.port)
    // RFC 7541 §6.2.1: stored in the dynamic table, and then referenced by one byte each.
    const indexed = Buffer.concat([Buffer.of(0x40), literal('x-bomb'), literal('a'.repeat(4_000))])
    const bomb = Buffer.concat([get, indexed, Buffer.alloc(12_000, 0x80 | 62)])
    const before = process.memoryUsage().rss
    for (let stream = 1; stream < 40; stream += 2)
      connection.write(frame(types.headers, endHeaders | endStream, stream, bomb))
    await expect
      .poll(() => framesIn(connection.bytes()).some(({ type }) => type === types.reset || type === goAway))
      .toBe(true)
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 28)
    await expectHealthy()
  })

  it('too many headers are refused, and the connection stays open', async () => {
    const { server, expectHealthy } = await open()
    const session = connectHttp2(server.url, { maxSendHeaderBlockLength: 2 ** 20 })
    onTestFinished(() => session.destroy())
    session.on('error', () => {})
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`x-${n}`, 'a']))
    const refused = await answerTo(session.request({ ':path': '/healthz', ...many }))
    expect(refused.status).toBe(0)
    expect(refused.reset).not.toBe(0)
    await expectHealthy()
  })

  it('endless pings and settings do not exhaust the memory', async () => {
    const { server, expectHealthy } = await open()
    for (const flooding of [frame(types.ping, 0, 0, Buffer.alloc(8)), frame(types.settings, 0, 0)]) {
      const connection = dial(server.port)
      connection.pause()
      function* frames() {
        for (let n = 0; n < 200_000; n++) yield flooding
      }
      await Promise.race([connection.flood(frames()), new Promise((resolve) => setTimeout(resolve, 3_000))])
      await expectHealthy()
      connection.destroy()
    }
  })

  it('streams beyond the limit of a connection are refused and can be retried', async () => {
    const gate = Promise.withResolvers<string>()
    const { server, expectHealthy } = await open({}, (text) => (text === 'wait' ? gate.promise : Promise.resolve('hi')))
    const session = client(server.url)
    await once(session, 'remoteSettings')
    expect(session.remoteSettings.maxConcurrentStreams).toBe(1_000)
    const connection = dial(server.port)
    for (let stream = 1; stream < 2 * 1_200; stream += 2)
      connection.write(frame(types.headers, endHeaders, stream, post))
    const refusals = () =>
      framesIn(connection.bytes()).filter(({ type, payload }) => type === types.reset && payload.readUInt32BE() === 7)
    await expect.poll(() => refusals().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(190)
    await expectHealthy()
    gate.resolve('hi')
  })

  it('an incomplete or trickling body is reset', async () => {
    const { server, received, expectHealthy } = await open({ http: { requestTimeout: 300 } })
    const session = client(server.url)
    for (const isDripping of [false, true]) {
      const stream = session.request({ ':method': 'POST', ':path': '/', 'content-type': 'application/json' })
      stream.write('{')
      const dripping = setInterval(() => isDripping && !stream.destroyed && stream.write(' '), 20)
      const { status: code, reset } = await answerTo(stream)
      clearInterval(dripping)
      expect([code, reset]).toEqual([0, 8])
    }
    expect(received).toEqual([])
    await expectHealthy()
  })

  it('a client that never reads a response is disconnected, even if it answers pings', async () => {
    const { server, expectHealthy } = await open({ http: { keepAliveTimeout: 300, bodyLimit: 2 ** 23 } })
    const session = connectHttp2(server.url, { settings: { initialWindowSize: 0 } })
    onTestFinished(() => session.destroy())
    session.on('error', () => {})
    const stream = session.request({ ':path': '/.well-known/agent-card.json' })
    // The window stays at 0, so nothing can be sent.
    stream.on('error', () => {}).resume()
    await once(stream, 'response')
    const startedAt = performance.now()
    await closed(stream)
    expect(performance.now() - startedAt).toBeLessThan(10_000)
    await expectHealthy()
  })

  it('a response whose reader takes a few bytes at a time is reset', async () => {
    const much = (text: string) => Promise.resolve(text === 'much' ? 'x'.repeat(2_000_000) : 'hi')
    const { server, expectHealthy } = await open({ http: { unreadTimeout: 500 } }, much)
    const session = connectHttp2(server.url, { settings: { initialWindowSize: 100 } })
    onTestFinished(() => session.destroy())
    session.on('error', () => {})
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
    const stream = session.request({ ':method': 'POST', ':path': '/message:send', ...headers })
    let received = 0
    stream
      .on('error', () => {})
      .on('data', (chunk) => {
        received += chunk.length
        // The client opens the window again when it has read.
        stream.pause()
        setTimeout(() => stream.resume(), 20)
      })
    stream.end(JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'much' }] } }))
    await closed(stream)
    expect(stream.rstCode).toBe(8)
    expect(received).toBeGreaterThan(100)
    expect(received).toBeLessThan(2_000_000)
    await expectHealthy()
  })

  it('an event stream whose reader takes nothing is reset', async () => {
    const much = (text: string) => Promise.resolve(text === 'much' ? 'x'.repeat(200_000) : 'hi')
    const { server, expectHealthy } = await open({ http: { unreadTimeout: 300 } }, much)
    const session = connectHttp2(server.url, { settings: { initialWindowSize: 0 } })
    onTestFinished(() => session.destroy())
    session.on('error', () => {})
    const headers = { 'content-type': 'application/json', 'a2a-version': '1.0', accept: 'text/event-stream' }
    const stream = session.request({ ':method': 'POST', ':path': '/message:stream', ...headers })
    stream.on('error', () => {}).resume()
    stream.end(JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'much' }] } }))
    await once(stream, 'response')
    await closed(stream)
    expect(stream.rstCode).toBe(8)
    await expectHealthy()
  })
})

describe('gRPC', () => {
  const headers = {
    ':method': 'POST',
    ':path': '/lf.a2a.v1.A2AService/SendMessage',
    'content-type': 'application/grpc',
    te: 'trailers',
  }

  async function send(url: string, message: Buffer, more: Readonly<Record<string, string>> = {}, isCompressed = true) {
    const stream = client(url).request({ ...headers, ...more })
    stream.on('error', () => {})
    const head = Buffer.from([isCompressed ? 1 : 0, 0, 0, 0, 0])
    head.writeUInt32BE(message.length, 1)
    const response = Promise.race([once(stream, 'response'), once(stream, 'trailers')])
    stream.resume().end(Buffer.concat([head, message]))
    const [answer] = await response
    return Number(answer['grpc-status'])
  }

  it('a compression bomb is refused before it is decompressed', async () => {
    const { server, received, expectHealthy } = await open()
    const bomb = gzipSync(Buffer.alloc(200 * 2 ** 20))
    expect(bomb.length).toBeLessThan(2 ** 18)
    const before = process.memoryUsage().rss
    const statuses = await Promise.all(
      Array.from({ length: 8 }, () => send(server.url, bomb, { 'grpc-encoding': 'gzip' })),
    )
    expect(new Set(statuses)).toEqual(new Set([status.RESOURCE_EXHAUSTED]))
    expect(process.memoryUsage().rss - before).toBeLessThan(2 ** 29)
    expect(received).toEqual([])
    await expectHealthy()
  })

  it('a wrong length, an unknown compression and garbage are refused', async () => {
    const { server, received, expectHealthy } = await open()
    const garbage = Buffer.from('garbage')
    expect(await send(server.url, garbage, { 'grpc-encoding': 'snappy' })).toBe(status.UNIMPLEMENTED)
    expect(await send(server.url, garbage, { 'grpc-encoding': 'gzip' })).toBe(status.INTERNAL)
    expect(await send(server.url, garbage)).toBe(status.INTERNAL)
    const stream = client(server.url).request(headers)
    const response = once(stream, 'response')
    stream.on('error', () => {})
    stream.resume().end(Buffer.from([0, 255, 255, 255, 255, 1]))
    expect(Number((await response)[0]['grpc-status'])).toBe(status.RESOURCE_EXHAUSTED)
    expect(received).toEqual([])
    await expectHealthy()
  })
})
